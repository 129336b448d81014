"""The public names of PyTorch, and which of them the engine has."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from engine.parity.reasons import REASONS

HOMONYMS = {"torch.ops"}
"""Names under which the engine has something else."""

State = Literal["there", "left out", "missing"]


@dataclass(frozen=True, slots=True)
class Name:
    """One public name of PyTorch, such as `relu` of `torch.nn.functional`."""

    namespace: str
    name: str
    there: bool
    reason: str
    """Why the engine is without it; empty where nothing is said."""

    @property
    def path(self) -> str:
        return f"{self.namespace}.{self.name}"

    @property
    def state(self) -> State:
        return "there" if self.there else "left out" if self.reason else "missing"


def stored() -> dict[str, list[str]]:
    """PyTorch's names by namespace, as scripts/parity_names.py found them."""
    return _document()["names"]


def version() -> str:
    """The PyTorch that the names are of."""
    return _document()["version"]


def names(namespace: str | None = None) -> Iterator[Name]:
    """Every name, or those of one namespace: "torch", "nn.functional", "Tensor", …"""
    for space, members in stored().items():
        if namespace is None or space in (namespace, f"torch.{namespace}"):
            ours = engine_space(space)
            for member in members:
                there = hasattr(ours, member) and f"{space}.{member}" not in HOMONYMS
                yield Name(space, member, there, "" if there else reason(f"{space}.{member}"))


def reason(path: str) -> str:
    """Why a name is left out, by the first pattern that it matches."""
    return next((why for why, patterns in REASONS.items() if any(matches(path, pattern) for pattern in patterns)), "")


def matches(path: str, pattern: str) -> bool:
    """Namespace and name each match their part of the pattern, so that `torch.*_` is about `torch` alone."""
    parts = zip(path.rpartition("."), pattern.rpartition("."), strict=True)
    return all(fnmatchcase(part, wanted) for part, wanted in parts)


def engine_space(space: str) -> Any:
    """The engine's module or class for one of PyTorch; None where there is none."""
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
