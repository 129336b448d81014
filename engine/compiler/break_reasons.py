"""Why a recording ended before the function did: the stable names of graph breaks."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

_ENGINE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


@dataclass(frozen=True, slots=True)
class BreakReason:
    """A kind of graph break."""

    id: str
    title: str
    """In a few words, for lists."""
    what: str
    """What the code did, to follow "because"."""
    advice: str
    """What to write instead."""


BOOL = BreakReason(
    "bool",
    "Decision by a tensor",
    "Python asked whether a tensor is true, for instance in `if` or `while`",
    "Compute both sides and choose with engine.where(), or decide by something that is no tensor.",
)
NUMBER = BreakReason(
    "number",
    "Number read from a tensor",
    "item(), float() or int() made a Python number of a tensor",
    "Keep it as a tensor of no dimensions, or read it after the loop, for many steps at once.",
)
LIST = BreakReason(
    "list",
    "List made of a tensor",
    "tolist() made Python numbers of a tensor",
    "Read the numbers after the compiled function.",
)
ITERATION = BreakReason(
    "iteration",
    "Loop over the elements of a tensor",
    "Python went through the elements of a tensor and read them one by one",
    "Compute on the whole tensor at once, or read it once, with tolist(), after the compiled function.",
)
ARRAY = BreakReason(
    "array",
    "Numbers handed to NumPy",
    "the numbers were handed to NumPy or another library",
    "Use the engine's op of that name, or hand over the result.",
)
PRINT = BreakReason(
    "print",
    "Tensor printed",
    "a tensor was printed or formatted",
    "Print after the compiled function, or print the shape only.",
)
DATA_DEPENDENT = BreakReason(
    "shape",
    "Shape that depends on numbers",
    "the shape of an op's result depends on the numbers in it",
    "Use where(), a mask that multiplies, or topk() with a fixed count.",
)
DEVICE = BreakReason(
    "device",
    "Copy to another device",
    "a tensor was copied to another device, or tensors on different devices met",
    "Bring inputs to the device before the compiled function, and results back after it.",
)
OPAQUE = BreakReason(
    "opaque",
    "Call that is no op",
    "something was called that is no op and needs the numbers",
    "Call it before or after the compiled function, or write it with the engine's ops.",
)
OBSERVED = BreakReason(
    "observed",
    "Ops watched one by one",
    "somebody watches the ops one by one",
    "Leave inspect's context before calling the function.",
)
LIMIT = BreakReason(
    "limit",
    "Too many ways through",
    "the function took more different paths from one place than are kept",
    "Pass numbers that change as tensors or floats, and keep shapes the same from call to call.",
)
EXPOSED = BreakReason(
    "exposed",
    "Write to shared memory",
    "memory was written to that NumPy or another library holds as well",
    "Hand over a copy, tensor.numpy().copy(), or write to a tensor of the engine's own.",
)
MEMORY = BreakReason(
    "memory",
    "Look at memory as it lies",
    "as_strided(), or a view as a dtype of another size, goes by where the elements lie in memory, which plans choose",
    "Take the view before the compiled function, or write it with slices, unfold() or reshape().",
)
DISABLED = BreakReason(
    "disabled",
    "Function kept out of compiling",
    "a function was called that engine.compiler.disable() keeps out",
    "Call it before or after the compiled function, or remove the decorator.",
)
EXPLICIT = BreakReason(
    "explicit", "Explicit graph break", "engine.graph_break() was called", "Remove the call to compile across it."
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
    "to_device": DEVICE,
}


def reason_of_frame() -> BreakReason:
    """The reason by the engine's function that the user's code called: the outermost that is the engine's own."""
    frame, names = sys._getframe(1), []
    while frame is not None and frame.f_code.co_filename.startswith(_ENGINE):
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    for name in reversed(names):
        if name in _OF_FUNCTION:
            return _OF_FUNCTION[name]
    return OPAQUE


__all__ = ["REASONS", "BreakReason", "reason_of_frame"]
