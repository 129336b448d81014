"""Comparison of tensors in tests."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from engine.backend import Device
from engine.dtypes import DType, bfloat16, float16, float32, float64, promote_types
from engine.random import default_generator
from engine.tensors import Tensor
from engine.tensors.creation import as_tensor

_CLOSE = {float16: (1e-3, 1e-5), bfloat16: (1.6e-2, 1e-5), float32: (1.3e-6, 1e-5), float64: (1e-7, 1e-7)}
"""Relative and absolute tolerance by dtype."""

Message = str | Callable[[str], str] | None


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: Message = None,
) -> None:
    """Raise an AssertionError unless two tensors, numbers, or structures of them are nearly equal.

    Args:
        actual: the result
        expected: the reference
        allow_subclasses: accept subclasses of Tensor
        rtol: relative tolerance (default: by dtype)
        atol: absolute tolerance (default: by dtype)
        equal_nan: treat NaN as equal to NaN
        check_device: the devices must be equal
        check_dtype: the dtypes must be equal
        check_layout: no effect; there is one layout
        check_stride: the strides must be equal
        msg: the error message, or a function that takes the generated message and returns another
    """
    if (rtol is None) != (atol is None):
        raise ValueError("assert_close(): pass both rtol and atol, or neither")

    def compare(actual: Any, expected: Any, path: str) -> None:
        if isinstance(actual, Mapping) and isinstance(expected, Mapping):
            if set(actual) != set(expected):
                raise _failed(f"The keys differ: {sorted(map(str, set(actual) ^ set(expected)))}{path}", msg)
            for key in expected:
                compare(actual[key], expected[key], f"{path}[{key!r}]")
        elif _is_sequence(actual) and _is_sequence(expected):
            if len(actual) != len(expected):
                raise _failed(f"The lengths differ: {len(actual)} != {len(expected)}{path}", msg)
            for index, (one, other) in enumerate(zip(actual, expected, strict=True)):
                compare(one, other, f"{path}[{index}]")
        else:
            if not allow_subclasses and type(actual) is not type(expected):
                raise _failed(f"The types differ: {type(actual).__name__} != {type(expected).__name__}{path}", msg)
            problem = _problem(actual, expected, rtol, atol, equal_nan, check_device, check_dtype, check_stride)
            if problem:
                raise _failed(f"{problem}{f' (at {path})' if path else ''}", msg)

    compare(actual, expected, "")


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """PyTorch's older form of `assert_close`: dtypes may differ, and NaN equals NaN."""
    warnings.warn("assert_allclose() is the old form of assert_close()", FutureWarning, stacklevel=2)
    actual, expected = as_tensor(actual), as_tensor(expected)
    assert_close(
        actual, expected.to(actual.dtype), rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=True, msg=msg or None
    )


def make_tensor(
    *shape: Any,
    dtype: DType,
    device: Device | str,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Return random numbers from `low` to below `high`, by default from -9 to 9; integers for integer dtypes."""
    size = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
    unsigned = not dtype.is_signed and not dtype.is_floating_point
    low = (0 if unsigned else -9) if low is None else low
    high = (2 if dtype.name == "bool" else 10) if high is None else high
    drawn_shape = (*size, 2) if noncontiguous else size
    if dtype.is_floating_point:
        array = default_generator.uniform(drawn_shape, float64, low, high)
    else:
        array = default_generator.integers(int(np.ceil(low)), int(np.ceil(high)), drawn_shape)
    if exclude_zero:
        array = np.where(array == 0, 1, array)
    tensor = as_tensor(array, dtype=dtype, device=device)
    return (tensor[..., 0] if noncontiguous else tensor).requires_grad_(requires_grad)


def _problem(
    actual: Any,
    expected: Any,
    rtol: float | None,
    atol: float | None,
    equal_nan: bool,
    check_device: bool,
    check_dtype: bool,
    check_stride: bool,
) -> str:
    """Return why two tensors or numbers are not close; empty if they are."""
    numbers = not isinstance(actual, Tensor) and not isinstance(expected, Tensor)
    if numbers != (not isinstance(actual, Tensor) or not isinstance(expected, Tensor)):
        return f"A tensor cannot be compared with {actual if isinstance(expected, Tensor) else expected!r}."
    first, second = (as_tensor(value).detach() for value in (actual, expected))
    if first.shape != second.shape:
        return f"The values for attribute 'shape' do not match: {first.shape} != {second.shape}."
    if check_device and first.device is not second.device:
        return f"The values for attribute 'device' do not match: {first.device} != {second.device}."
    if check_dtype and first.dtype is not second.dtype and not numbers:
        return f"The values for attribute 'dtype' do not match: {first.dtype} != {second.dtype}."
    if check_stride and first.stride() != second.stride():
        return f"The values for attribute 'stride' do not match: {first.stride()} != {second.stride()}."
    default = max(_CLOSE.get(float64 if numbers else tensor.dtype, (0.0, 0.0)) for tensor in (first, second))
    if numbers and not promote_types(first.dtype, second.dtype).is_floating_point:
        default = (0.0, 0.0)
    relative, absolute = default if rtol is None or atol is None else (rtol, atol)
    actual_values, expected_values = (tensor.cpu().double().numpy() for tensor in (first, second))
    if not first.dtype.is_floating_point and not second.dtype.is_floating_point and not relative and not absolute:
        actual_values, expected_values = (tensor.cpu().numpy() for tensor in (first, second))
        mismatched = actual_values != expected_values
    else:
        mismatched = ~np.isclose(actual_values, expected_values, rtol=relative, atol=absolute, equal_nan=equal_nan)
    if not mismatched.any():
        return ""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        difference = np.abs(np.asarray(actual_values, np.float64) - np.asarray(expected_values, np.float64))
        ratio = difference / np.abs(np.asarray(expected_values, np.float64))
    if numbers:
        kind = "Scalars are not equal" if default == (0.0, 0.0) else "Scalars are not close"
        return f"{kind}!\n\nExpected {expected} but got {actual}."
    kind = "Tensor-likes are not close" if relative or absolute else "Tensor-likes are not equal"
    return (
        f"{kind}!\n\nMismatched elements: {mismatched.sum()} / {mismatched.size} ({100 * mismatched.mean():.1f}%)\n"
        f"Greatest absolute difference: {_greatest(difference, mismatched)} (up to {absolute} allowed)\n"
        f"Greatest relative difference: {_greatest(ratio, mismatched)} (up to {relative} allowed)"
    )


def _greatest(values: np.ndarray[Any, Any], mismatched: np.ndarray[Any, Any]) -> str:
    index = np.unravel_index(np.argmax(np.where(mismatched, values, -1)), values.shape)
    return f"{values[index]} at index {tuple(map(int, index))}"


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _failed(text: str, msg: Message) -> AssertionError:
    return AssertionError(text if msg is None else msg if isinstance(msg, str) else msg(text))


__all__ = ["assert_allclose", "assert_close", "make_tensor"]
