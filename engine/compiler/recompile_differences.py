"""Explains recompiles: how a call differed from the nearest earlier trace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from engine.compiler.compile_report import Recompile, key_of
from engine.compiler.instruction import FLOAT, STATE, Constant, Scalar, Slot, TraceNode
from engine.shape import format_shape
from engine.tensors.deferred import Form

END = "the end of the trace"


def expected_text(found: Recompile) -> str:
    return END if found.expected is None else call_text(found.expected)


def actual_text(found: Recompile) -> str:
    return END if found.ended else call_text(found.node)


def describe_differences(found: Recompile) -> tuple[str, ...]:
    """The differences as texts."""
    if found.ended:
        return ("the call ended here; the earlier call continued",)
    if found.expected is None:
        return ("the call continued here; the earlier call ended",)
    old, new = key_of(found.expected), key_of(found.node)
    if old[0] is not new[0] or old[1] != new[1]:
        return (f"another op: {_name(found.node)} instead of {_name(found.expected)}",)
    words = list(_of_statics(old[2], new[2]))
    if len(old) != len(new):
        words.append(f"{len(new) - 3} inputs instead of {len(old) - 3}")
    for entry, (before, now) in enumerate(zip(old[3:], new[3:], strict=False), start=1):
        if before != now:
            words.append(f"input {entry} {_of_input(before, now, found)}")
    return tuple(words)


def call_text(node: TraceNode) -> str:
    """A short text for an op, such as "matmul of 3×4 float32 and 4×2 float32"."""
    forms, call = known_forms(node), node.call
    inputs = [operand_text(one, forms) for one in call.inputs]
    return f"{_name(node)} of {' and '.join(inputs)}" if inputs else _name(node)


def operand_text(one: Slot | Scalar | Constant, forms: dict[int, Form]) -> str:
    if isinstance(one, Slot):
        return form_text(forms[one.number])
    return "a number" if isinstance(one, Scalar) else repr(one.value)


def form_text(form: Form) -> str:
    return f"{format_shape(form.shape)} {form.dtype}"


def known_forms(node: TraceNode) -> dict[int, Form]:
    """Slot → shape, dtype and strides, for all arrays of a trace up to `node`."""
    forms: dict[int, Form] = {}
    for entry in node.path():
        forms.update({external.slot: external.form for external in entry.externals})
        forms.update(dict(entry.outs))
    return forms


def _name(node: TraceNode) -> str:
    return f"{node.call.op.name}_" if node.call.in_place else node.call.op.name


def _of_statics(old: Any, new: Any) -> Iterator[str]:
    before, now = _named(old), _named(new)
    for name in {**before, **now}:
        if before.get(name) != now.get(name):
            yield f"argument {name} is {_plain(now.get(name))}, was {_plain(before.get(name))}"


def _named(frozen: Any) -> dict[str, Any]:
    """Static arguments by name, from a key."""
    return {} if frozen is None else dict(frozen[1:])


def _plain(frozen: Any) -> str:
    """The text of a value in the form of `instruction.freeze`."""
    if isinstance(frozen, tuple) and frozen and isinstance(frozen[0], type):
        kind, items = frozen[0], frozen[1:]
        if kind in (bool, int):
            return repr(items[0])
        if kind in (tuple, list):
            return f"({', '.join(map(_plain, items))})"
        if kind is slice:
            return ":".join("" if one is None else str(one) for one in items)
    return "a number" if frozen in (FLOAT, STATE) else "not given" if frozen is None else repr(frozen)


def _of_input(before: Any, now: Any, found: Recompile) -> str:
    if isinstance(before, tuple) and isinstance(now, tuple) and len(before) == len(now) == 5:
        return ", ".join(_of_array(before, now))
    return f"is {_source(now, found.node)}, was {_source(before, found.expected)}"


def _of_array(before: Sequence[Any], now: Sequence[Any]) -> Iterator[str]:
    counted = ((*one[:2], _strides(one), *one[3:]) for one in (before, now))
    for what, old, new in zip(("shape", "dtype", "strides", "device", ""), *counted, strict=True):
        if old == new or (what == "strides" and before[0] != now[0]):
            continue  # strides depend on the shape
        if what == "shape":
            yield f"is {format_shape(new)}, was {format_shape(old)}"
        elif what:
            yield f"has {what} {new}, had {old}"
        else:
            yield "shares memory with other inputs than before"


def _strides(part: Sequence[Any]) -> tuple[int, ...]:
    """Strides in elements, as in PyTorch."""
    return tuple(stride // part[1].itemsize for stride in part[2])


def _source(part: Any, node: TraceNode | None) -> str:
    if isinstance(part, int) and node is not None:
        for entry in node.path():
            if part in entry.call.outputs and not entry.call.in_place:
                where = entry.call.where
                line = "" if where is None else f" of line {where[1]}"
                return f"the result of {entry.call.op.name}{line}"
        return "an array that the call used earlier"
    if isinstance(part, tuple) and len(part) == 5:
        return "an array that the call had not used yet"
    return _plain(part)


__all__ = [
    "actual_text",
    "call_text",
    "describe_differences",
    "expected_text",
    "form_text",
    "known_forms",
    "operand_text",
]
