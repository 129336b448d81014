"""Further names that PyTorch has for arguments: NumPy's, those of overloads, and those that its documentation lacks."""

from __future__ import annotations

from collections.abc import Sequence

FURTHER: dict[str, tuple[str, ...]] = {
    "input": ("x", "A"),
    "A": ("input",),
    "self": ("x",),
    "tensor": ("x",),
    "a": ("x",),
    "x1": ("x",),
    "other": ("y",),
    "x2": ("y",),
    "input2": ("L",),
    "axis": ("dim",),
    "keepdims": ("keepdim",),
    "axis0": ("dim0",),
    "axis1": ("dim1",),
    "element": ("elements",),
    "test_element": ("test_elements",),
    "split_size": ("split_size_or_sections",),
    "indices": ("indices_or_sections",),
    "sections": ("indices_or_sections",),
    "tensor_indices_or_sections": ("indices_or_sections",),
}
"""The name, and what it may be called here."""


def further_names(names: Sequence[str]) -> dict[str, str]:
    """Which further names the arguments `names` of a function have; the first tensor is `input` to everybody."""
    found = {other: name for other, own in FURTHER.items() if other not in names for name in own if name in names}
    if names and "input" not in names:
        found.setdefault("input", names[0])
    return found
