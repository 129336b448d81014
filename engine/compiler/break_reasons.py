"""Reasons for graph breaks: stable ids, texts, and how the reason of a break is found."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

_ENGINE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


@dataclass(frozen=True, slots=True)
class BreakReason:
    """A kind of graph break."""

    id: str
    """Stable name; docs/reference/graph-breaks.md has a section for each."""
    title: str
    """In a few words, for lists."""
    what: str
    """What the code did, as a clause that follows "because"."""
    advice: str
    """What to write instead."""


BOOL = BreakReason(
    "bool",
    "Branch on tensor values",
    "Python converted a tensor to a bool, for instance in `if` or `while`",
    "Compute both sides and choose with engine.where(), or branch on a value that is not a tensor.",
)
NUMBER = BreakReason(
    "number",
    "Tensor converted to a number",
    "item(), float() or int() converted a tensor to a Python number",
    "Keep a tensor without dimensions, or read the number after the loop.",
)
LIST = BreakReason(
    "list",
    "Tensor converted to a list",
    "tolist() converted a tensor to Python numbers",
    "Call tolist() after the compiled function.",
)
ITERATION = BreakReason(
    "iteration",
    "Iteration over tensor elements",
    "Python iterated over the elements of a tensor and read them one by one",
    "Compute on the whole tensor, or call tolist() after the compiled function.",
)
ARRAY = BreakReason(
    "array",
    "Data passed to another library",
    "NumPy or another library received the data of a tensor",
    "Use the engine's op of that name, or pass the result of the compiled function.",
)
PRINT = BreakReason(
    "print",
    "Tensor printed",
    "a tensor was printed or formatted",
    "Print after the compiled function, or print only the shape.",
)
DATA_DEPENDENT = BreakReason(
    "shape",
    "Data-dependent shape",
    "the shape of an op's result depends on the values of a tensor",
    "Use where(), multiply by a mask, or use topk() with a fixed count.",
)
DEVICE = BreakReason(
    "device",
    "Transfer between devices",
    "a tensor was copied to another device, or an op got tensors on different devices",
    "Move inputs to the device before the compiled function, and results back after it.",
)
OPAQUE = BreakReason(
    "opaque",
    "Call that is not an op",
    "a call that is not an op needed the values of a tensor",
    "Call it before or after the compiled function, or write it with the engine's ops.",
)
OBSERVED = BreakReason(
    "observed",
    "Ops observed one by one",
    "ops are observed one by one, for instance by engine.inspect.recording()",
    "Call the function outside of the engine.inspect context.",
)
LIMIT = BreakReason(
    "limit",
    "Too many paths",
    "too many different paths continue from one op",
    "Pass changing numbers as tensors or floats, and keep shapes equal from call to call.",
)
EXPOSED = BreakReason(
    "exposed",
    "Write to shared memory",
    "an op wrote to memory that NumPy or another library shares",
    "Pass a copy, tensor.numpy().copy(), or write to a tensor that the engine allocated.",
)
MEMORY = BreakReason(
    "memory",
    "Access by memory layout",
    "as_strided(), or view() as a dtype of another size, depends on the memory layout, which the compiler chooses",
    "Take the view before the compiled function, or use slices, unfold() or reshape().",
)
DISABLED = BreakReason(
    "disabled",
    "Call of a disabled function",
    "a function was called that engine.compiler.disable() excludes",
    "Call it before or after the compiled function, or remove the decorator.",
)
EXPLICIT = BreakReason(
    "explicit",
    "Explicit graph break",
    "engine.graph_break() was called",
    "Remove the call.",
)

REASONS: dict[str, BreakReason] = {
    one.id: one
    for one in (
        BOOL, NUMBER, LIST, ITERATION, ARRAY, PRINT, DATA_DEPENDENT, DEVICE, OPAQUE, OBSERVED, LIMIT,
        EXPOSED, MEMORY, DISABLED, EXPLICIT,
    )
}  # fmt: skip

_OF_FUNCTION = {
    "__bool__": BOOL,
    "__contains__": BOOL,
    "item": NUMBER,
    "__float__": NUMBER,
    "__int__": NUMBER,
    "__index__": NUMBER,
    "__complex__": NUMBER,
    "tolist": LIST,
    "numpy": ARRAY,
    "__array__": ARRAY,
    "__dlpack__": ARRAY,
    "data_ptr": ARRAY,
    "__repr__": PRINT,
    "__format__": PRINT,
    "move": DEVICE,
}


def reason_of_frame() -> BreakReason:
    """The reason for the engine function that user code called, which is the outermost one of the call stack."""
    frame, names = sys._getframe(1), []
    while frame is not None and frame.f_code.co_filename.startswith(_ENGINE):
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    for name in reversed(names):
        if name in _OF_FUNCTION:
            return _OF_FUNCTION[name]
    return OPAQUE


__all__ = ["REASONS", "BreakReason", "reason_of_frame"]
