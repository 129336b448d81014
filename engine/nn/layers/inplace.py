"""What activations that can write in place share."""

from __future__ import annotations

from engine.nn.module import Module


class InPlaceActivation(Module):
    """An activation whose only argument says where the result goes."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        return inplace_repr(self.inplace).removeprefix(", ")


def inplace_repr(inplace: bool) -> str:
    """The end of a layer's text."""
    return ", inplace=True" if inplace else ""
