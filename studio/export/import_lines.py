"""The import statements that a source needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from engine.system.syntax import parse_source
from studio.export.shipped_source import names_in

STANDARD = {
    "argparse": "import argparse",
    "json": "import json",
    "math": "import math",
    "Path": "from pathlib import Path",
}
LIBRARIES = {
    "np": "import numpy as np",
    "torch": "import torch",
    "F": "import torch.nn.functional as F",
    "load_file": "from safetensors.torch import load_file, save_file",
    "lr_scheduler": "from torch.optim import lr_scheduler",
    "checkpoint": "from torch.utils import checkpoint",
}
TORCH = ("Tensor", "nn", "optim")
TORCH_DATA = ("DataLoader", "Dataset", "RandomSampler", "Sampler")
LOCAL = {
    "data": "import data",
    "layers": "import layers",
    "metrics": "import metrics",
    "carried_states": "from layers import carried_states",
}
"""Import statements by the name that they define."""

RESERVED = frozenset({*STANDARD, *LIBRARIES, *TORCH, *TORCH_DATA, *LOCAL, "save_file", "model"})
"""Names that the classes and variables of a package cannot have."""


def import_lines(text: str, *, hoisted: Iterable[str] = (), local: Mapping[str, str] | None = None) -> str:
    """The imports of a source: of the standard library, of libraries, and of the package.

    Args:
        text: the source without imports
        hoisted: import statements of the code of Python nodes
        local: further statements by name, such as that of the model's class
    """
    tree = parse_source(text)
    used = names_in(tree)
    libraries = [statement for name, statement in LIBRARIES.items() if name in used]
    for module, names in (("torch", TORCH), ("torch.utils.data", TORCH_DATA)):
        if found := [name for name in names if name in used]:
            libraries.append(f"from {module} import {', '.join(found)}")
    known = {*STANDARD.values(), *libraries, *(f"from torch import {name}" for name in TORCH)}
    others = [each for each in dict.fromkeys(hoisted) if each not in known]
    groups = [
        [statement for name, statement in STANDARD.items() if name in used],
        _sorted([*libraries, *others]),
        [statement for name, statement in {**LOCAL, **(local or {})}.items() if name in used],
    ]
    return "\n\n".join("\n".join(group) for group in groups if group)


def _sorted(statements: list[str]) -> list[str]:
    """`import x` before `from x import y`, by name."""
    return sorted(statements, key=lambda each: (each.startswith("from"), each))


__all__ = ["RESERVED", "import_lines"]
