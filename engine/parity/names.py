"""PyTorch's public names and whether the engine has them."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, Literal

from engine.torch_compat.left_out import reason
from engine.torch_compat.paths import PATHS

HOMONYMS = {"torch.ops"}
"""Names of PyTorch that have another meaning in the engine."""

State = Literal["there", "left out", "missing"]


@dataclass(frozen=True, slots=True)
class Name:
    """A public name of PyTorch, such as `relu` of `torch.nn.functional`, or the path of a module."""

    namespace: str
    name: str
    there: bool
    reason: str
    """Why the engine does not have it; empty if no reason is given."""

    @property
    def path(self) -> str:
        return self.name if self.namespace == MODULES else f"{self.namespace}.{self.name}"

    @property
    def state(self) -> State:
        return "there" if self.there else "left out" if self.reason else "missing"


def stored() -> dict[str, list[str]]:
    """Return PyTorch's names by namespace, as stored by scripts/parity_names.py."""
    return _document()["names"]


def version() -> str:
    """Return the version of PyTorch that the names are from."""
    return _document()["version"]


MODULES = "import paths"
"""Namespace of the entries for module paths."""


def modules() -> list[str]:
    """Return the paths of PyTorch's modules, as stored by scripts/parity_names.py."""
    return _document()["modules"]


def names(namespace: str | None = None) -> Iterator[Name]:
    """Yield the names of all namespaces or of one: "torch", "nn.functional", "Tensor", "import paths" (modules)."""
    for space, members in stored().items():
        if namespace is None or space in (namespace, f"torch.{namespace}"):
            ours = engine_space(space)
            for member in members:
                there = hasattr(ours, member) and f"{space}.{member}" not in HOMONYMS
                yield Name(space, member, there, "" if there else reason(f"{space}.{member}"))
    for path in modules() if namespace in (None, MODULES) else ():
        there = path not in HOMONYMS and can_be_imported(path.replace("torch", "engine", 1))
        yield Name(MODULES, path, there, "" if there else reason(path))


def can_be_imported(path: str) -> bool:
    """Return whether a module with this path exists, without importing it."""
    if path in sys.modules or path.removeprefix("engine.") in PATHS:
        return True
    parts = path.split(".")
    folders: Sequence[str] | None = sys.modules[parts[0]].__path__
    for end in range(2, len(parts) + 1):
        result = PathFinder.find_spec(".".join(parts[:end]), folders) if folders is not None else None
        if result is None:
            return False
        folders = result.submodule_search_locations
    return True


def engine_space(space: str) -> Any:
    """Return the engine's module or class for a namespace of PyTorch, or None."""
    path = space.replace("torch", "engine", 1)
    if path == "engine.Tensor":
        return importlib.import_module("engine").Tensor
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError as error:
        if error.name is None or not path.startswith(error.name):
            raise
        return None


def _document() -> dict[str, Any]:
    return json.loads(Path(__file__).with_name("names.json").read_text(encoding="utf-8"))
