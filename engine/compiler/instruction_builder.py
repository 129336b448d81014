"""Builds instructions from ops that have run, and checks which ops can be traced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.backend import Device, MetaArray
from engine.compiler.instruction import Instruction
from engine.compiler.sequential_executor import is_mixed
from engine.dtypes import BY_NAME
from engine.observe import call_origin
from engine.ops.movement.reinterpret import view_dtype
from engine.ops.movement.strides import as_strided
from engine.ops.record import Op
from engine.tensors.deferred import Form
from engine.tensors.dispatch.kernel_call import infer
from engine.tensors.dispatch.op_call import shares_memory


def build_instruction(
    op: Op,
    slots: tuple[Any, ...],
    statics: dict[str, Any],
    device: Device,
    arrays: Sequence[Any],
    values: Sequence[Any] | None,
    first: int,
) -> Instruction:
    """The instruction of an op whose results get slots from `first` on. `values` is None for an in-place write."""
    mixed, (where, backward) = is_mixed(arrays), call_origin()
    if values is None:
        return Instruction(op, slots, statics, (slots[0].number,), (), False, True, mixed, device, where, backward)
    outputs = tuple(range(first, first + len(values)))
    views = op.view and shares_memory(values[0], arrays[0])
    forms = tuple(map(Form.of, values))
    return Instruction(op, slots, statics, outputs, forms, views, False, mixed, device, where, backward)


def has_inferable_shape(op: Op, arrays: Sequence[Any], statics: dict[str, Any], forms: Sequence[Form]) -> bool:
    """Whether the result shapes depend only on the shapes of the inputs."""
    specs = [MetaArray(tuple(a.shape), a.dtype) if hasattr(a, "dtype") else a for a in arrays]
    try:
        found = infer(op, specs, statics)
    except Exception:  # noqa: BLE001 - shape rules raise any type of error, and the kernel has already run
        return False
    found = found if isinstance(found, tuple) else (found,)
    return [tuple(one.shape) for one in found] == [form.shape for form in forms]


def depends_on_memory_layout(op: Op, inputs: Sequence[Any], statics: dict[str, Any]) -> bool:
    """Whether a view depends on the memory layout, which plans choose."""
    if op is as_strided:
        return True
    return op is view_dtype and inputs[0]._array.itemsize != BY_NAME[statics["dtype"]].itemsize


__all__ = ["build_instruction", "depends_on_memory_layout", "has_inferable_shape"]
