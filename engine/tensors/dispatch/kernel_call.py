"""Kernel calls on arrays, shape rules on meta arrays, and the explanation of kernel errors.

The fast path has no checks: after a kernel fails, the op's shape rule is run to explain the error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine import dtypes
from engine.backend import CPU, Device, MetaArray, namespace
from engine.dtypes import DType
from engine.errors import DTypeError, EngineError, IndexRangeError, OutOfMemoryError, ShapeError
from engine.modes import MODES
from engine.ops.record import Op
from engine.ops.shape_rules import broadcast_shapes
from engine.shape import Spec

FAILURES = (RuntimeError, ValueError, TypeError, IndexError, OverflowError)
"""Exceptions that NumPy raises for incompatible arguments."""


def compute(op: Op, arrays: list[Any], statics: dict[str, Any], device: Device) -> Any:
    """Return the result of the kernel: an array, or a tuple of arrays for an op with several outputs."""
    try:
        if device is CPU:
            if statics is op.defaults:  # they are the kernel's defaults too
                if len(arrays) == 2:  # unpacking a list costs a tenth of a microsecond
                    return MODES.call_silently(op.kernel, np, arrays[0], arrays[1])
                if len(arrays) == 1:
                    return MODES.call_silently(op.kernel, np, arrays[0])
                return MODES.call_silently(op.kernel, np, *arrays)
            if op.view:  # views compute nothing
                return op.kernel(np, arrays[0], **statics)
            return MODES.call_silently(op.kernel, np, *arrays, **statics)
        xp = namespace(device)
        with xp.cuda.Device(device.index):
            return op.kernel(xp, *arrays, **statics)
    except EngineError:
        raise
    except MemoryError as error:  # includes CuPy's OutOfMemoryError
        raise OutOfMemoryError(f"{op.name}(): {error or 'out of memory'} ({device})") from error
    except FAILURES as error:
        return _retry_or_raise(op, arrays, statics, error)


def compute_into(op: Op, arrays: list[Any], statics: dict[str, Any], out: Any) -> None:
    """Run the kernel with `out`, an array in main memory, as its output."""
    try:  # positional arguments if possible: keywords cost up to half a microsecond
        if statics is op.defaults:
            MODES.call_silently(op.kernel, np, *arrays, out)
        elif len(statics) == 1:
            MODES.call_silently(op.kernel, np, *arrays, out, *statics.values())
        else:
            MODES.call_silently(op.kernel, np, *arrays, out, **statics)
    except EngineError:
        raise
    except FAILURES as error:
        _retry_or_raise(op, arrays, {**statics, "out": out}, error)


def _retry_or_raise(op: Op, arrays: list[Any], arguments: dict[str, Any], error: Exception) -> Any:
    """Return the result if only the shared errstate context was in use. Otherwise raise the best explanation."""
    if isinstance(error, RuntimeError) and "cannot enter context" in str(error):
        try:
            with np.errstate(all="ignore"):  # a finalizer runs an op during a kernel
                return op.kernel(np, *arrays, **arguments)
        except EngineError:
            raise
        except FAILURES as other:
            error = other
    if isinstance(error, RuntimeError):
        raise error
    raise _explain_error(op, arrays, {k: v for k, v in arguments.items() if k != "out"}, error) from error


def compute_mixed(op: Op, arrays: list[Any], statics: dict[str, Any], device: Device) -> Any:
    """`compute` for arrays of any dtypes. As in PyTorch, bfloat16 is computed in float32 and rounded once."""
    if op.kind == "movement" or not any(getattr(array, "dtype", None) == _BFLOAT16 for array in arrays):
        return compute(op, arrays, statics, device)
    float32_arrays = [
        array.astype(_FLOAT32) if getattr(array, "dtype", None) == _BFLOAT16 else array for array in arrays
    ]
    found = compute(op, float32_arrays, statics, device)
    if statics.get("dtype") is not None:  # passed by the caller
        return found
    return tuple(map(_to_bfloat16, found)) if op.outputs > 1 else _to_bfloat16(found)


def _to_bfloat16(result: Any) -> Any:
    return result.astype(_BFLOAT16) if result.dtype == _FLOAT32 else result


_BFLOAT16, _FLOAT32 = dtypes.bfloat16.numpy, dtypes.float32.numpy


def infer(op: Op, arrays: Sequence[Any], statics: dict[str, Any], dtype: DType | None = None) -> Any:
    """Run the op's shape rule instead of its kernel. `dtype`: promoted dtype; default: the first input's."""
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


def as_array(result: Any, device: Device) -> Any:
    """Convert NumPy scalars, which kernels may return, to arrays."""
    return np.asarray(result) if device is CPU and not isinstance(result, np.ndarray) else result


def _spec_of(array: Any) -> Any:
    return Spec(tuple(array.shape), dtypes.from_numpy(array.dtype)) if hasattr(array, "dtype") else array


def _explain_error(op: Op, arrays: Sequence[Any], statics: dict[str, Any], error: Exception) -> Exception:
    """Return the shape rule's error if it raises one, else the kernel's error with the op and its inputs."""
    try:
        infer(op, arrays, statics)
    except EngineError as better:
        return better
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        pass  # the shape rule failed for another reason: report the kernel's error
    inputs = ", ".join(str(_spec_of(array)) for array in arrays)
    kind = (
        IndexRangeError
        if isinstance(error, IndexError)
        else ShapeError
        if isinstance(error, ValueError)
        else DTypeError
    )
    return kind(f"{op.name}({inputs}): {error}")
