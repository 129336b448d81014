"""Runs ops on tensors: promotion, devices, kernels, views, and the record for autograd.

The fast path is short on purpose: errors are explained afterwards, by the op's shape rule, once a kernel has failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine import dtypes, observe
from engine.autograd import OpNode, Place
from engine.backend import CPU, META, Device, MetaArray, namespace, to_host
from engine.dtypes import DType
from engine.errors import AutogradError, DeviceError, DTypeError, EngineError, ShapeError
from engine.modes import MODES
from engine.ops.record import EXECUTOR, Op
from engine.ops.rules import broadcast_shapes
from engine.shape import Dim, Spec, format_shape
from engine.tensor import Storage, Tensor

_NUMBERS = (bool, int, float)


def run(op: Op, inputs: Sequence[Any], statics: dict[str, Any]) -> Any:
    """Calls `op` on tensors and numbers and records it for autograd."""
    needs_grad = mixed = False
    device: Device | None = None
    dtype: Any = None
    arrays: list[Any] = []
    for value in inputs:
        if isinstance(value, Tensor):
            if value._view is not None:
                value._refresh()
            if value._requires_grad:
                needs_grad = True
            array, place = value._array, value._storage.device
            if device is None:
                device, dtype = place, array.dtype
            elif place is not device:
                device = _common_device(op, inputs)
                if device is not META:
                    return run(op, _moved(inputs, device), statics)
            if array.dtype is not dtype:
                mixed = True
            arrays.append(array)
        else:
            arrays.append(value if type(value) in _NUMBERS and op.takes_numbers else _number(op, value))
    if device is None:
        raise TypeError(
            f"{op.name}() needs a tensor, not {', '.join(type(value).__name__ for value in inputs) or 'nothing'}"
        )
    promotes = op.promotes and (mixed or dtype.kind != "f")
    promoted = _promote(op, arrays) if promotes else None
    if device is META:
        outs = _wrap(op, inputs, statics, _infer(op, arrays, statics, promoted), device)
    else:
        outs = _wrap(op, inputs, statics, _compute(op, arrays, statics, device), device)
    where = None
    modes = MODES
    if modes.observer is not None:
        where = observe.call_site()
        modes.observer.call(op, inputs, statics, outs, where)
    if needs_grad and modes.grad and op.rules:
        record(op, inputs, statics, outs, where)
    return outs[0] if op.outputs == 1 else tuple(outs)


EXECUTOR.run = run


def run_in_place(op: Op, target: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """`op(target, …)` written into `target`'s memory: bumps its version and gives it, and its base, new history."""
    args = (target, *args)
    inputs, statics = op.bind((args,) if op.variadic else args, kwargs)
    target._refresh()
    device = target.device
    if any(isinstance(value, Tensor) and value.device is not device for value in inputs):
        if device is not META and _common_device(op, inputs) is not device:
            raise DeviceError(f"{op.name}_(): what is on another device cannot be written to a tensor on {device}")
        inputs = inputs if device is META else _moved(inputs, device)
    tracked = MODES.grad and any(isinstance(value, Tensor) and value.requires_grad for value in inputs)
    if tracked and target.is_leaf and target._requires_grad:
        raise AutogradError(
            f"{op.name}_() on a leaf that requires gradients. "
            f"Do it inside no_grad(), or use {op.name}() for a new tensor."
        )
    if tracked and target._base is not None and target._base.is_leaf and target._base._requires_grad:
        raise AutogradError(
            f"{op.name}_() on a view of a leaf that requires gradients. Do it inside no_grad(), or clone() first."
        )
    if MODES.grad and target._base is not None and target._base.requires_grad and not target._requires_grad:
        raise AutogradError(
            f"{op.name}_() on a view that was made without recording, of a tensor that requires gradients: "
            "the write would be missing from its gradient. Make the view outside no_grad(), or write inside it."
        )
    arrays = [value._array if isinstance(value, Tensor) else _number(op, value) for value in inputs]
    before = _before(target) if tracked else target
    if tracked:
        inputs = [before if value is target else value for value in inputs]
    if tracked and _gradient_needs(op, inputs, before):
        before._array, before._storage = (
            before._array if target.is_meta else before._array.copy(),
            Storage(target.device),
        )
    result = (_promote(op, arrays) if op.promotes else None) or target.dtype
    if result.kind > target.dtype.kind and op.result != "bool":
        raise DTypeError(
            f"{op.name}_() cannot write its {result.name} result into a {target.dtype.name} tensor. Convert it first."
        )
    if device is META:
        outcome = _infer(op, arrays, statics, result)
        _check_same_shape(op, target, outcome.shape)
    else:
        _write(op, target, arrays, statics, device)
    target._storage.version += 1
    where = None
    if MODES.observer is not None:
        where = observe.call_site()
        MODES.observer.call(op, inputs, statics, [target], where)
    if tracked:
        _give_history(op, target, inputs, statics, where)
    return target


def record(
    op: Op,
    inputs: Sequence[Any],
    statics: dict[str, Any],
    outs: Sequence[Tensor],
    where: Place,
    written: Storage | None = None,
) -> None:
    """Makes the autograd node of a call and hangs its outputs on it; `written` is the memory that the call wrote to."""
    edges = tuple([value.edge if isinstance(value, Tensor) else None for value in inputs])
    plan = op.plan(tuple([edge is not None for edge in edges]))
    if not plan.rules:
        return
    saved: dict[int, tuple[Any, int]] = {}
    for index in plan.saves:
        value = inputs[index]
        if isinstance(value, Tensor):
            storage = value._storage
            saved[index] = (value, storage.version - 1 if storage is written else storage.version)
    for index in plan.outs:
        saved[-1 - index] = (outs[index].detach(), outs[index]._storage.version)
    metas = tuple([(v._array.shape, v._array.dtype) if isinstance(v, Tensor) else v for v in inputs])
    outputs = tuple([(out._array.shape, out._array.dtype) for out in outs])
    node = OpNode(op, edges, metas, statics, plan.rules, saved, outputs, where)
    for index, out in enumerate(outs):
        if out._array.dtype.kind == "f":
            out._node, out._index, out._requires_grad = node, index, True
            if out._view is not None:
                out._view = (out._view[0], out._base._node)  # pyright: ignore[reportOptionalMemberAccess]


def _number(op: Op, value: Any) -> Any:
    """A NumPy number as Python's, so that it takes the tensors' dtype; symbolic sizes and what may be absent pass."""
    if value is None and op.optional:
        return None
    if op.takes_numbers and isinstance(value, (np.generic, *_NUMBERS)):
        return value.item() if isinstance(value, np.generic) else value
    if op.takes_numbers and isinstance(value, Dim):
        return 2  # only shapes are asked for: any number will do
    accepted = "tensors and numbers" if op.takes_numbers else "tensors"
    remedy = "" if value is None else " Make a tensor of it with engine.as_tensor()."
    raise TypeError(f"{op.name}() takes {accepted}, not {'None' if value is None else type(value).__name__}.{remedy}")


# -- kernels ----------------------------------------------------------------------------------


def _compute(op: Op, arrays: list[Any], statics: dict[str, Any], device: Device, **out: Any) -> Any:
    """What the kernel returns: an array, or a tuple of arrays for an op of several outputs; `out` is where to write."""
    try:
        if device is CPU:
            if op.kind == "movement":  # cannot overflow, and entering errstate costs a microsecond
                return op.kernel(np, *arrays, **statics)
            with np.errstate(all="ignore"):
                return op.kernel(np, *arrays, **statics, **out)
        xp = namespace(device)
        with xp.cuda.Device(device.index):
            return op.kernel(xp, *arrays, **statics)
    except EngineError:
        raise
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise _explained(op, arrays, statics, error) from error


def _infer(op: Op, arrays: Sequence[Any], statics: dict[str, Any], dtype: DType | None = None) -> Any:
    """The op's shape rule in place of its kernel; `dtype` is what promotion came to, else the first input's."""
    specs = [_spec_of(array) for array in arrays]
    dtype = dtype or next((spec.dtype for spec in specs if isinstance(spec, Spec)), dtypes.float32)
    if op.kind == "elementwise" and not op.has_shape_rule:
        found: Any = broadcast_shapes(op.name, [spec.shape for spec in specs if isinstance(spec, Spec)])
    else:
        found = op.infer(specs, statics)
    if op.result == "bool":
        dtype = dtypes.bool_
    results = found if op.outputs > 1 else (found,)
    metas = tuple(
        MetaArray(r.shape, r.dtype.numpy) if isinstance(r, Spec) else MetaArray(tuple(r), dtype.numpy) for r in results
    )
    return metas if op.outputs > 1 else metas[0]


def _spec_of(array: Any) -> Any:
    return Spec(tuple(array.shape), dtypes.from_numpy(array.dtype)) if hasattr(array, "dtype") else array


def _explained(op: Op, arrays: Sequence[Any], statics: dict[str, Any], error: Exception) -> Exception:
    """The shape rule's error if it finds one, else the kernel's own with the op and its inputs named."""
    try:
        _infer(op, arrays, statics)
    except EngineError as better:
        return better
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        pass  # the rule itself could not cope with what the kernel refused: say what the kernel said
    given = ", ".join(str(_spec_of(array)) for array in arrays)
    kind = ShapeError if isinstance(error, (ValueError, IndexError)) else DTypeError
    return kind(f"{op.name}({given}): {error}")


def _wrap(op: Op, inputs: Sequence[Any], statics: dict[str, Any], result: Any, device: Device) -> Sequence[Tensor]:
    if op.view:
        source = inputs[0]
        if device is META or result is source._array or not result.size or np.may_share_memory(result, source._array):
            return (_view(op, source, statics, result),)
    if op.outputs == 1:
        return (Tensor(_array(result, device), Storage(device)),)
    return [Tensor(_array(one, device), Storage(device)) for one in result]


def _array(result: Any, device: Device) -> Any:
    """Kernels may return NumPy's scalars; tensors hold arrays."""
    return np.asarray(result) if device is CPU and not isinstance(result, np.ndarray) else result


def _view(op: Op, source: Tensor, statics: dict[str, Any], array: Any) -> Tensor:
    out = Tensor(array, source._storage)
    base = source if source._base is None else source._base
    chain = () if source._view is None else source._view[0]
    out._base, out._view = base, ((*chain, (op, statics)), base._node)
    return out


# -- in place ---------------------------------------------------------------------------------


def _before(target: Tensor) -> Tensor:
    """The tensor as it was before a write: same memory and history, another object."""
    alias = Tensor(target._array, target._storage, requires_grad=target._requires_grad)
    alias._node, alias._index = target._node, target._index
    return alias


def _gradient_needs(op: Op, inputs: Sequence[Any], before: Tensor) -> bool:
    """Whether the backward pass will ask for the numbers that a write is about to replace."""
    plan = op.plan(tuple([isinstance(value, Tensor) and value.requires_grad for value in inputs]))
    return any(inputs[index] is before for index in plan.saves)


def _write(op: Op, target: Tensor, arrays: list[Any], statics: dict[str, Any], device: Device) -> None:
    destination = target._array
    if 0 in destination.strides and destination.size and _repeats(destination):
        raise ShapeError(
            f"{op.name}_() on an expanded tensor would write one element many times. Call contiguous() first."
        )
    same = arrays[0] is destination and op.takes_out and device is CPU and op.result != "bool"
    if same and all(_fits(array, destination) for array in arrays[1:]):
        _compute(op, arrays, statics, device, out=destination)
        return
    result = _array(_compute(op, arrays, statics, device), device)
    _check_same_shape(op, target, result.shape)
    destination[...] = result


def _repeats(array: Any) -> bool:
    """Whether one element of memory stands in several places."""
    return any(step == 0 and size > 1 for step, size in zip(array.strides, array.shape, strict=True))


def _fits(array: Any, destination: Any) -> bool:
    if not hasattr(array, "dtype"):
        return True
    shape, wanted = array.shape, destination.shape
    trailing = wanted[len(wanted) - len(shape) :]
    return (
        array.dtype == destination.dtype
        and len(shape) <= len(wanted)
        and all(a in (b, 1) for a, b in zip(shape, trailing, strict=True))
    )


def _check_same_shape(op: Op, target: Tensor, shape: Sequence[Any]) -> None:
    if tuple(shape) != tuple(target._array.shape):
        raise ShapeError(
            f"{op.name}_(): the result is {format_shape(shape)}, but the tensor is {format_shape(target.shape)}"
        )


def _give_history(op: Op, target: Tensor, inputs: Sequence[Any], statics: dict[str, Any], where: Place) -> None:
    if target._base is None:
        record(op, inputs, statics, [target], where, target._storage)
        return
    value = Tensor(target._array, target._storage)
    record(op, inputs, statics, [value], where, target._storage)
    base, chain = target._base, target._view[0]  # pyright: ignore[reportOptionalSubscript]
    record(OVERWRITE, [_before(base), value], {"chain": chain}, [base], where)
    target._refresh()


def _overwritten(xp: Any, base: Any, value: Any, chain: tuple[Any, ...]) -> Any:
    """A copy of `base` in which the view that `chain` makes of it is `value`."""
    copy = base.copy()
    view = copy
    for op, statics in chain:
        view = op.kernel(xp, view, **statics)
    view[...] = value
    return copy


def _kernel_overwrite(xp, base, value, chain: tuple[Any, ...]):  # pyright: ignore[reportMissingParameterType]
    """What an in-place write through a view does to the tensor behind it."""
    return _overwritten(xp, base, value, chain)


_kernel_overwrite.__name__ = "overwrite_view"
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


# -- between devices --------------------------------------------------------------------------


def _kernel_move(xp, x, device: str, source: str):  # pyright: ignore[reportMissingParameterType]
    """x on another device."""
    raise AssertionError("run by move(), which knows both devices")


_kernel_move.__name__ = "move"
MOVE = Op(_kernel_move, "movement", method=False)
MOVE.shape(lambda x, device, source: x)


@MOVE.gradient
def _(g: Any, device: str, source: str) -> Any:
    return move(g, Device(source))


def move(x: Tensor, device: Device) -> Tensor:
    """A copy of `x` on `device`, recorded for autograd."""
    if device is META:
        array: Any = MetaArray(tuple(x._array.shape), x._array.dtype)
    elif device is CPU:
        array = to_host(x._numbers())
    else:
        xp = namespace(device)
        with xp.cuda.Device(device.index):
            array = xp.asarray(x._numbers())
    out = Tensor(array, Storage(device))
    if MODES.grad and x.requires_grad:
        record(MOVE, (x,), {"device": str(device), "source": str(x.device)}, [out], None)
    return out


# -- promotion and devices --------------------------------------------------------------------


def _promote(op: Op, arrays: list[Any]) -> DType | None:
    """Brings `arrays` to one dtype by PyTorch's rules, in place. Python numbers stay Python numbers.

    A tensor with dimensions outranks one without, which outranks a number; the lower rank only wins by its kind.
    """
    result = _promoted(op, arrays)
    if op.numbers and result is dtypes.bool_:
        raise DTypeError(f"{op.name}() is not defined for booleans. Convert with .long() or .float().")
    return result


def _promoted(op: Op, arrays: list[Any]) -> DType | None:
    first = None
    same = True
    top_number = -1
    for index, array in enumerate(arrays):
        if index in op.masks:
            continue
        if isinstance(array, _NUMBERS):
            kind = 0 if isinstance(array, bool) else 1 if isinstance(array, int) else 2
            top_number = max(top_number, kind)
        elif array is not None:
            if first is None:
                first = array.dtype
            elif array.dtype != first:
                same = False
    if first is None:
        return None if top_number < 0 else (dtypes.bool_, dtypes.int64, dtypes.get_default_dtype())[top_number]
    result = dtypes.from_numpy(first) if same else _joint_dtype([a for i, a in enumerate(arrays) if i not in op.masks])
    if top_number > result.kind:
        result = dtypes.get_default_dtype() if top_number == 2 else dtypes.int64
    elif same and (result.kind == 2 or not op.floats):
        return result
    if op.floats and result.kind < 2:
        result = dtypes.get_default_dtype()
    for index, array in enumerate(arrays):
        if array is None or isinstance(array, _NUMBERS) or index in op.masks:
            continue
        if array.dtype != result.numpy:
            arrays[index] = (
                MetaArray(array.shape, result.numpy) if isinstance(array, MetaArray) else array.astype(result.numpy)
            )
    return result


def _joint_dtype(arrays: Sequence[Any]) -> DType:
    ranks: list[DType | None] = [None, None]
    for array in arrays:
        if array is None or isinstance(array, _NUMBERS):
            continue
        rank = 0 if len(array.shape) else 1
        dtype, known = dtypes.from_numpy(array.dtype), ranks[rank]
        ranks[rank] = dtype if known is None else dtypes.promote_types(known, dtype)
    dimensioned, scalar = ranks
    if dimensioned is None or (scalar is not None and scalar.kind > dimensioned.kind):
        return scalar  # pyright: ignore[reportReturnType]
    return dimensioned


def _common_device(op: Op, inputs: Sequence[Any]) -> Device:
    """The one device of all inputs; a CPU tensor of no dimensions goes with any other device, as in PyTorch."""
    tensors = [value for value in inputs if isinstance(value, Tensor)]
    devices = {tensor.device for tensor in tensors if tensor.ndim or tensor.device is not CPU}
    if len(devices) <= 1 and META not in devices:
        return next(iter(devices), CPU)
    if META in devices and len(devices | {CPU}) <= 2:
        return META
    names = ", ".join(f"{format_shape(tensor.shape)} on {tensor.device}" for tensor in tensors)
    raise DeviceError(f"{op.name}(): tensors on different devices: {names}. Move them to one with .to(device).")


def _moved(inputs: Sequence[Any], device: Device) -> list[Any]:
    """The inputs with those on another device copied to `device`."""
    return [
        move(value, device) if isinstance(value, Tensor) and value.device is not device else value for value in inputs
    ]


__all__ = ["MOVE", "OVERWRITE", "move", "record", "run", "run_in_place"]
