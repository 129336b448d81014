"""In-place op calls: write to the tensor's memory, bump its version, and set grad_fn of the tensor and its base."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine import dtypes
from engine.backend import CPU, META, Device, MetaArray, namespace
from engine.dtypes import NATIVE_FLOATS, NUMBERS
from engine.errors import AutogradError, DeviceError, DTypeError, ShapeError
from engine.graph import SourceLocation
from engine.modes import MODES
from engine.ops.record import Op
from engine.shape import Spec, format_shape
from engine.tensors.deferred import adopt
from engine.tensors.dispatch.device_transfer import common_device, move_inputs
from engine.tensors.dispatch.kernel_call import as_array, compute_into, compute_mixed, infer
from engine.tensors.dispatch.node_recording import record
from engine.tensors.dispatch.op_call import number
from engine.tensors.dispatch.promotion import promote
from engine.tensors.storage import Storage
from engine.tensors.tensor import Tensor


def run_in_place(op: Op, inputs: Sequence[Any], statics: dict[str, Any]) -> Tensor:
    """Write the result of `op` to its first input, bump the version, and set grad_fn of the tensor and its base."""
    direct = MODES.fast_call is not None
    target = inputs[0]
    storage, destination = target._storage, target._array
    device, dtype, shape = storage.device, destination.dtype, destination.shape
    needs_grad = False
    writes_directly = op.takes_out and device is CPU and dtype in NATIVE_FLOATS
    """Whether the kernel can write straight into the target's memory, without further checks."""
    arrays: list[Any] = []
    for value in inputs:
        if isinstance(value, Tensor):
            if value._view is not None:
                value._refresh()
            needs_grad |= value._requires_grad
            array = value._array
            if value._storage.device is not device and device is not META:
                return run_in_place(op, _inputs_on_device(op, inputs, device), statics)
            if array.dtype is not dtype or array.shape != shape:
                writes_directly = False
            arrays.append(array)
        else:
            arrays.append(value if type(value) in NUMBERS and op.takes_numbers else number(op, value))
    if storage.version < 0 and not MODES.inference:
        raise AutogradError(
            f"{op.name}_() on an inference tensor outside inference_mode().",
            in_code="Use clone() for a normal tensor.",
        )
    tracked = needs_grad and MODES.grad
    if (tracked or target._base is not None) and MODES.grad:
        _check_autograd(op, target, tracked)
    old_value, original_inputs = None, inputs
    if tracked:
        old_value = _alias_before_write(target)
        inputs = [old_value if value is target else value for value in inputs]
        if _backward_needs(op, inputs, old_value):
            copy = old_value if device is META else old_value._copied()
            old_value._array, old_value._storage = copy._array, Storage(device)
    capture = None if direct or device is META else MODES.interceptors.get("capture")
    if capture is not None:
        capture.write(op, target, original_inputs, statics)
    elif not writes_directly or (destination.base is not None and 0 in destination.strides):
        write(op, target, arrays, statics, device)
    else:
        compute_into(op, arrays, statics, destination)
    storage.version += 1
    where = None
    if not direct and MODES.observer is not None:
        where = MODES.observer.call(op, inputs, statics, [target])
    if tracked:
        _record_write(op, target, inputs, statics, where)
    return target


def _inputs_on_device(op: Op, inputs: Sequence[Any], device: Device) -> Sequence[Any]:
    """Return the inputs on the target's device; 0-dimensional CPU tensors are copied there."""
    if common_device(op, inputs) is not device:
        raise DeviceError(f"{op.name}_(): an input on another device cannot be written to a tensor on {device}")
    return move_inputs(inputs, device)


# -- checks ----------------------------------------------------------------------------------


def _check_autograd(op: Op, target: Tensor, tracked: bool) -> None:
    if tracked and not op.rules:
        raise AutogradError(
            f"{op.name}_() has no gradient, but the tensor that it overwrites requires gradients.",
            in_code=f"Use {op.name}() for a new tensor, or detach() first.",
        )
    base = target._base
    if tracked and target._node is None and target._requires_grad:
        raise AutogradError(
            f"{op.name}_() on a leaf that requires gradients.",
            in_code=f"Do it inside no_grad(), or use {op.name}() for a new tensor.",
        )
    if base is None:
        return
    if tracked and base.is_leaf and base._requires_grad:
        raise AutogradError(
            f"{op.name}_() on a view of a leaf that requires gradients.",
            in_code="Do it inside no_grad(), or clone() first.",
        )
    if base.requires_grad and not target._requires_grad:
        raise AutogradError(
            f"{op.name}_() on a view created under no_grad() of a tensor that requires gradients: "
            "the write would be missing from its gradient.",
            in_code="Make the view outside no_grad(), or write inside it.",
        )


def _check_same_shape(op: Op, target: Tensor, shape: Sequence[Any]) -> None:
    if tuple(shape) != tuple(target._array.shape):
        raise ShapeError(
            f"{op.name}_(): the result is {format_shape(shape)}, but the tensor is {format_shape(target.shape)}"
        )


def write(op: Op, target: Tensor, arrays: list[Any], statics: dict[str, Any], device: Device) -> None:
    """Promote `arrays`, compute and write the result. Raises an error if dtype or shape do not fit."""
    destination, dtype = target._array, target.dtype
    result = (promote(op, arrays) if op.promotes else None) or dtype
    if result.kind > dtype.kind and op.result != "bool":
        raise DTypeError(
            f"{op.name}_() cannot write its {result.name} result into a {dtype.name} tensor. Convert it first."
        )
    if device is META:
        _check_same_shape(op, target, infer(op, arrays, statics, dtype).shape)
        return
    if 0 in destination.strides and destination.size and _repeats(destination):
        raise ShapeError(
            f"{op.name}_() on an expanded tensor would write one element many times.",
            in_code="Call contiguous() first.",
        )
    direct = op.takes_out and device is CPU and result is dtype and result is not dtypes.bfloat16
    if direct and all(_fits(array, destination) for array in arrays):
        compute_into(op, arrays, statics, destination)
        return
    found = as_array(compute_mixed(op, arrays, statics, device), device)
    _check_same_shape(op, target, found.shape)
    destination[...] = found


def _repeats(array: Any) -> bool:
    """Return whether several elements of the array share one memory location."""
    return any(step == 0 and size > 1 for step, size in zip(array.strides, array.shape, strict=True))


def _fits(array: Any, destination: Any) -> bool:
    """Return whether an operand keeps the result in the destination's dtype and shape."""
    if not hasattr(array, "dtype"):
        return True
    shape, target_shape = array.shape, destination.shape
    trailing = target_shape[len(target_shape) - len(shape) :]
    return (
        array.dtype == destination.dtype
        and len(shape) <= len(target_shape)
        and all(a in (b, 1) for a, b in zip(shape, trailing, strict=True))
    )


# -- autograd ---------------------------------------------------------------------------------


def _alias_before_write(target: Tensor) -> Tensor:
    """Return an alias of the tensor before a write: same memory and grad_fn."""
    alias = Tensor(target._array, target._storage, requires_grad=target._requires_grad)
    alias._node, alias._index = target._node, target._index
    adopt(alias)
    return alias


def _backward_needs(op: Op, inputs: Sequence[Any], old_value: Tensor) -> bool:
    """Return whether the backward pass needs the values that a write is about to replace."""
    needed_mask = sum(1 << i for i, value in enumerate(inputs) if isinstance(value, Tensor) and value.requires_grad)
    return any(inputs[index] is old_value for index in op.backward_plan(needed_mask, len(inputs)).saved_inputs)


def _record_write(
    op: Op, target: Tensor, inputs: Sequence[Any], statics: dict[str, Any], where: SourceLocation
) -> None:
    if target._base is None:
        node, index = target._node, target._index
        record(op, inputs, statics, [target], where, target._storage)
        target._transfer_retained_grad(node, index)
        return
    value = Tensor(target._array, target._storage)
    record(op, inputs, statics, [value], where, target._storage)
    base, chain = target._base, target._view[0]  # pyright: ignore[reportOptionalSubscript]
    node, index = base._node, base._index
    record(OVERWRITE, [_alias_before_write(base), value], {"chain": chain}, [base], where)
    base._transfer_retained_grad(node, index)
    target._refresh()


def _kernel_overwrite(xp, base, value, chain: tuple[Any, ...]):  # pyright: ignore[reportMissingParameterType]
    """Update the base tensor after an in-place write through a view."""
    copy = base.copy()
    view = copy
    for op, statics in chain:
        view = op.kernel(xp, view, **statics)
    view[...] = value
    return copy


_kernel_overwrite.__name__ = "copy_slices"
OVERWRITE = Op(_kernel_overwrite, "other", method=False)
OVERWRITE.shape(lambda base, value, chain: base)


@OVERWRITE.gradient("base")
def _(g: Any, value: Spec, chain: tuple[Any, ...]) -> Any:
    return OVERWRITE(g, Tensor(_zeros(g, value), Storage(g.device)), chain=chain)


@OVERWRITE.gradient("value")
def _(g: Any, chain: tuple[Any, ...]) -> Any:
    for op, statics in chain:
        g = op(g, **statics)
    return g


def _zeros(like: Tensor, spec: Spec) -> Any:
    if like.is_meta:
        return MetaArray(spec.shape, spec.dtype.numpy)
    return namespace(like.device).zeros(spec.shape, spec.dtype.numpy)


__all__ = ["OVERWRITE", "run_in_place", "write"]
