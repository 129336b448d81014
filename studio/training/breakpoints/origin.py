"""Where NaN or infinity arose in a step, for the canvas, the command line and files."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

OriginKind = Literal["activation", "gradient", "parameter", "buffer", "input", "constant"]
_NOUNS: dict[str, str] = {"parameter": "Parameter", "buffer": "Buffer", "input": "Input"}


class Origin(msgspec.Struct, frozen=True):
    """The first node whose NaN or infinity reaches the loss or a gradient."""

    node: str | None
    """Path in the flat graph, with the instances that it is in; None outside of nodes."""
    kind: OriginKind
    """An activation or gradient that the node computes, or a tensor that was NaN or infinite before the step."""
    value: Literal["NaN", "infinity"]
    op: str
    """Name of the op; for a tensor, the first op that reads it."""
    port: str | None = None
    """Output of an activation, input of a gradient."""
    tensor: str | None = None
    """Path of the parameter or buffer, or of the parameter that the gradient belongs to."""
    inputs: tuple[str, ...] = ()
    """What the tensors of the op held."""
    elements: tuple[str, ...] = ()
    """For an elementwise op: operands and result at the first wrong element."""
    line: int | None = None
    """In the source of a Python node."""
    code: str = ""
    """Text of that line."""
    nan_node: str | None = None
    """For an infinity: the node where NaN arises from it."""

    @property
    def is_forward(self) -> bool:
        return self.kind != "gradient"

    @property
    def place(self) -> str:
        """The node and the direction: "log1 (forward)"."""
        where = self.node or self.tensor or self.op
        return f"{where} ({'forward' if self.is_forward else 'backward'})"

    @property
    def summary(self) -> str:
        """One sentence: "NaN arose first in log1 (forward)."."""
        word = "NaN" if self.value == "NaN" else "Infinity"
        if self.kind in _NOUNS:
            named = self.tensor or (f"{self.node}.{self.port}" if self.port else self.node)
            return f"{_NOUNS[self.kind]} {named} contained {self.value} before the step."
        became = f" and became NaN in {self.nan_node}" if self.nan_node not in (None, self.node) else ""
        return f"{word} arose first in {self.place}{became}."

    @property
    def detail(self) -> str:
        """How: "log(0) = -inf", or what the op received."""
        if self.elements:
            *operands, result = self.elements
            text = f"{self.op}({', '.join(operands)}) = {result}."
        elif self.inputs and self.kind in _NOUNS:
            text = f"It holds {self.inputs[0]}."
        elif self.inputs:
            text = f"{self.op} received {'; '.join(self.inputs)}."
        else:
            text = f"The op is {self.op}."
        if self.kind == "gradient" and self.tensor is not None:
            text = f"It is the gradient of {self.tensor}. {text}"
        if self.line is not None:
            text += f" Line {self.line}: {self.code}"
        return text

    def as_dict(self) -> dict[str, Any]:
        return msgspec.to_builtins(self)


def origin_from(value: object) -> Origin:
    """An origin from the dict in a file. Raises ValueError if it is damaged."""
    return msgspec.convert(value, Origin)


__all__ = ["Origin", "OriginKind", "origin_from"]
