"""Base of activations with an in-place option."""

from __future__ import annotations

from engine.nn.module import Module


class InPlaceActivation(Module):
    """Base of activations whose only argument is `inplace`."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        return inplace_repr(self.inplace).removeprefix(", ")


def inplace_repr(inplace: bool) -> str:
    """``, inplace=True`` or nothing, for `extra_repr`."""
    return ", inplace=True" if inplace else ""
