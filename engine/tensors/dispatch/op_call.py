"""Op calls on tensors: promotion, device, kernel, views, and autograd recording."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from engine.backend import CPU, META, Device
from engine.dtypes import NATIVE_FLOATS, NUMBERS
from engine.modes import MODES
from engine.ops.op_executor import OP_EXECUTOR
from engine.ops.record import Op
from engine.shape import Dim
from engine.tensors.dispatch.device_transfer import common_device, move_inputs
from engine.tensors.dispatch.kernel_call import FAILURES, as_array, compute, compute_mixed, infer
from engine.tensors.dispatch.node_recording import record
from engine.tensors.dispatch.promotion import promote
from engine.tensors.storage import Storage
from engine.tensors.tensor import Tensor


def run(op: Op, inputs: Sequence[Any], statics: dict[str, Any]) -> Any:
    """Call `op` on tensors and numbers and record it for autograd.

    The commonest calls are written out here: one tensor, two tensors of one dtype and device, or a tensor and a
    number. With four elements they take two thirds of the time of `run_any`, which accepts all inputs.
    """
    call = MODES.fast_call
    if call is None:
        capture = MODES.interceptors.get("capture")  # MODES.capture takes three times as long
        return run_any(op, inputs, statics) if capture is None else capture.call(op, inputs, statics)
    if not op.simple_arity:
        return _run_view(op, inputs, statics) if op.view else run_any(op, inputs, statics)
    a, b, dtype, needs_grad = inputs[0], None, None, False
    if isinstance(a, Tensor):
        if a._view is not None:
            a._refresh()
        dtype = a._array.dtype if a._storage.device is CPU else None
        needs_grad, a = a._requires_grad, a._array
    if op.simple_arity == 2:
        b = inputs[1]
        if isinstance(b, Tensor):
            if b._view is not None:
                b._refresh()
            needs_grad, b_device, b = needs_grad or b._requires_grad, b._storage.device, b._array
            if b_device is not CPU or (b.dtype is not dtype and (dtype := _dtype_with_number(op, a, b.dtype)) is None):
                return run_any(op, inputs, statics)
        elif _dtype_with_number(op, b, dtype) is None:
            return run_any(op, inputs, statics)
    if dtype not in op.native_dtypes:
        return run_any(op, inputs, statics)
    try:
        if statics is not op.defaults:
            result = call(op.kernel, np, a, **statics) if b is None else call(op.kernel, np, a, b, **statics)
        else:  # they are the kernel's defaults too
            result = call(op.kernel, np, a) if b is None else call(op.kernel, np, a, b)
    except FAILURES:
        return run_any(op, inputs, statics)  # raises the error
    out = Tensor(result if type(result) is ndarray else np.asarray(result), Storage(CPU))
    if needs_grad and MODES.grad and op.rules:
        record(op, inputs, statics, (out,), None)
    return out


OP_EXECUTOR.run = run


def _dtype_with_number(op: Op, number: Any, dtype: Any) -> Any:
    """Return the promoted dtype of an array and a number if it is the array's dtype, else None."""
    return dtype if type(number) in NUMBERS and op.takes_numbers and dtype in NATIVE_FLOATS else None


def _run_view(op: Op, inputs: Sequence[Any], statics: dict[str, Any]) -> Any:
    """`run` for an op that may return a view; takes half the time of `run_any`."""
    x = inputs[0]
    if not isinstance(x, Tensor) or x._storage.device is not CPU:
        return run_any(op, inputs, statics)
    if x._view is not None:
        x._refresh()
    try:
        array = op.kernel(np, x._array, **statics)
    except FAILURES:
        return run_any(op, inputs, statics)  # raises the error
    out = view_of(op, x, statics, array) if shares_memory(array, x._array) else Tensor(array, Storage(CPU))
    if x._requires_grad and MODES.grad:
        record(op, inputs, statics, (out,), None)
    return out


def run_any(op: Op, inputs: Sequence[Any], statics: dict[str, Any]) -> Any:
    """`run` for all kinds of inputs, and while op modes are active."""
    direct = MODES.fast_call is not None
    if not direct and MODES.autocast is not None:
        inputs = MODES.autocast.prepare(op, inputs)
    if not direct and MODES.tracer is not None:
        inputs = MODES.tracer.prepare(inputs, statics)
    needs_grad = mixed = False
    device: Device | None = None
    dtype: Any = None
    arrays: list[Any] = []
    for value in inputs:
        if isinstance(value, Tensor):
            if value._view is not None:
                value._refresh()
            needs_grad |= value._requires_grad
            array, value_device = value._array, value._storage.device
            if device is None:
                device, dtype = value_device, array.dtype
            elif value_device is not device:
                device = common_device(op, inputs)
                if device is not META:
                    return run_any(op, move_inputs(inputs, device), statics)
            if array.dtype is not dtype:
                mixed = True
            arrays.append(array)
        else:
            arrays.append(value if type(value) in NUMBERS and op.takes_numbers else number(op, value))
    if device is None:
        raise TypeError(
            f"{op.name}() needs a tensor, not {', '.join(type(value).__name__ for value in inputs) or 'nothing'}"
        )
    if mixed or device is META or dtype not in NATIVE_FLOATS:
        result = compute_promoted(op, arrays, statics, device)
    else:
        result = compute(op, arrays, statics, device)
    outs = _wrap_outputs(op, inputs, statics, result, device)
    where = None
    if not direct and MODES.observer is not None:
        where = MODES.observer.call(op, inputs, statics, outs)
    if needs_grad and MODES.grad and op.rules:
        record(op, inputs, statics, outs, where)
    return outs[0] if op.outputs == 1 else outs


def compute_promoted(op: Op, arrays: list[Any], statics: dict[str, Any], device: Device) -> Any:
    """Return the result of the kernel for arrays promoted to one dtype."""
    dtype = promote(op, arrays) if op.promotes else None
    return infer(op, arrays, statics, dtype) if device is META else compute_mixed(op, arrays, statics, device)


def _wrap_outputs(
    op: Op, inputs: Sequence[Any], statics: dict[str, Any], result: Any, device: Device
) -> tuple[Tensor, ...]:
    """Wrap the arrays that a kernel returned in tensors."""
    if op.outputs > 1:
        return tuple([Tensor(as_array(one, device), Storage(device)) for one in result])
    if op.view and shares_memory(result, inputs[0]._array):
        return (view_of(op, inputs[0], statics, result),)
    return (Tensor(result if type(result) is ndarray else as_array(result, device), Storage(device)),)


def number(op: Op, value: Any) -> Any:
    """Convert a NumPy scalar to a Python number, so that the tensors' dtype applies. Keeps symbolic sizes and None."""
    if value is None and op.optional:
        return None
    if op.takes_numbers and isinstance(value, (np.generic, *NUMBERS)):
        return value.item() if isinstance(value, np.generic) else value
    if op.takes_numbers and isinstance(value, Dim):
        return 2  # only shapes are computed: any number works
    accepted = "tensors and numbers" if op.takes_numbers else "tensors"
    remedy = "" if value is None else " Convert it with engine.as_tensor()."
    raise TypeError(f"{op.name}() takes {accepted}, not {'None' if value is None else type(value).__name__}.{remedy}")


def shares_memory(result: Any, source: Any) -> bool:
    """Return whether the result of an op that may return a view is a view. True for arrays without values."""
    if result is source:
        return True
    owner = getattr(result, "base", source)  # a meta array has none
    if owner is source:
        return True
    if owner is None or not result.size:
        return not result.size
    return owner is source.base or bool(np.may_share_memory(result, source))


def view_of(op: Op, source: Tensor, statics: dict[str, Any], array: Any) -> Tensor:
    out = Tensor(array, source._storage)
    base = source if source._base is None else source._base
    chain = () if source._view is None else source._view[0]
    out._base, out._view = base, ((*chain, (op, statics)), base._node)
    return out


__all__ = ["compute_promoted", "number", "run", "run_any", "shares_memory", "view_of"]
