"""Checks of gradients against finite differences."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.dtypes import float64
from engine.errors import AutogradError, GradcheckError
from engine.graph import grad
from engine.random import Generator
from engine.tensors import Tensor
from engine.tensors.creation import as_tensor

Function = Callable[..., Any]
Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """Options of `gradcheck` for each comparison."""

    eps: float
    atol: float
    rtol: float
    nondet: float
    dtypes: bool
    batched: bool
    fast: bool


def gradcheck(
    func: Function,
    inputs: Tensor | Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Check the gradients of `func` against finite differences. Raises GradcheckError if they differ.

    Args:
        func: takes `inputs`, returns one tensor or several
        inputs: tensors with requires_grad are checked; they should be float64
        eps: step of the finite differences
        atol: absolute tolerance
        rtol: relative tolerance
        raise_exception: if False, return False instead of raising
        nondet_tol: tolerance between two backward passes
        check_undefined_grad: no effect: each output is always differentiated with the other gradients undefined
        check_grad_dtypes: check that gradients have the dtypes of their inputs
        check_batched_grad: compare with ``grad(is_grads_batched=True)``
        check_batched_forward_grad: not supported: the engine differentiates in reverse mode
        check_forward_ad: not supported: the engine differentiates in reverse mode
        check_backward_ad: check the gradients of reverse mode
        fast_mode: compare a random projection instead of every element
        masked: no effect: for sparse tensors
    """
    if check_forward_ad or check_batched_forward_grad:
        raise NotImplementedError("gradcheck: the engine only differentiates in reverse mode. Omit check_forward_ad.")
    options = CheckOptions(eps, atol, rtol, nondet_tol, check_grad_dtypes, check_batched_grad, fast_mode)
    try:
        if check_backward_ad:
            _check(func, (inputs,) if isinstance(inputs, Tensor) else tuple(inputs), options)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Function,
    inputs: Tensor | Sequence[Any],
    grad_outputs: Tensor | Sequence[Tensor] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Check the second derivatives of `func` against finite differences, for given or random `grad_outputs`.

    Args:
        func: takes `inputs`, returns one tensor or several
        inputs: tensors with requires_grad are checked; they should be float64
        grad_outputs: gradients of the outputs; random by default
        gen_non_contig_grad_outputs: make the random gradients non-contiguous

    The other arguments are those of `gradcheck`.
    """
    arguments = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    outputs = _differentiable(func(*arguments))
    if grad_outputs is None:
        weights = _weights(outputs, contiguous=not gen_non_contig_grad_outputs)
    else:
        gradients = (grad_outputs,) if isinstance(grad_outputs, Tensor) else tuple(grad_outputs)
        weights = [weight.detach().requires_grad_() for weight in gradients]
    count = len(weights)

    def gradient_function(*args: Any) -> tuple[Tensor, ...]:
        values, seeds = args[: len(args) - count], args[len(args) - count :]
        differentiable = [value for value in values if isinstance(value, Tensor) and value.requires_grad]
        grads = grad(_differentiable(func(*values)), differentiable, seeds, create_graph=True, allow_unused=True)
        return tuple([gradient for gradient in grads if gradient is not None])

    return gradcheck(
        gradient_function, (*arguments, *weights), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception,
        nondet_tol=nondet_tol, check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad, check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev, fast_mode=fast_mode, masked=masked,
    )  # fmt: skip


# -- implementation ---------------------------------------------------------------------------


def _check(func: Function, inputs: tuple[Any, ...], options: CheckOptions) -> None:
    checked = [i for i, value in enumerate(inputs) if isinstance(value, Tensor) and value.requires_grad]
    if not checked:
        raise ValueError("gradcheck needs at least one input with requires_grad=True")
    for number in checked:
        _check_input(number, inputs[number])
    outputs = _outputs(func(*inputs))
    for out_number, out in enumerate(outputs):
        if not out.is_floating_point():
            continue
        for number in checked:
            block = (out_number, number)
            compare = _compare_projection if options.fast else _compare
            compare(func, inputs, block, out, options)


def _check_input(number: int, tensor: Tensor) -> None:
    if tensor.dtype is not float64:
        warnings.warn(
            f"gradcheck: input {number} is {tensor.dtype.name}; finite differences need float64", stacklevel=4
        )
    array = tensor._numbers()
    if array.size and any(step == 0 and size > 1 for step, size in zip(array.strides, array.shape, strict=True)):
        raise GradcheckError(
            f"gradcheck: elements of input {number} share memory, so they cannot be changed one by one.",
            in_code="Call contiguous() on it.",
        )


def _compare(
    func: Function, inputs: tuple[Any, ...], block: tuple[int, int], out: Tensor, options: CheckOptions
) -> None:
    """Compare every element of an output with respect to every element of an input."""
    numeric = _numeric(func, inputs, block, out, options.eps)
    analytic = _analytic(out, inputs[block[1]], block, options)
    mismatch = ~np.isclose(analytic, numeric, rtol=options.rtol, atol=options.atol, equal_nan=True)
    if not mismatch.any():
        return
    errors = np.where(mismatch, np.nan_to_num(np.abs(analytic - numeric), nan=np.inf), -1)
    row, column = np.unravel_index(int(errors.argmax()), errors.shape)
    output_index = tuple(int(i) for i in np.unravel_index(row, tuple(out.shape) or (1,)))
    input_index = tuple(int(i) for i in np.unravel_index(column, tuple(inputs[block[1]].shape) or (1,)))
    raise GradcheckError(
        f"gradcheck: Jacobian mismatch for output {block[0]} with respect to input {block[1]}: element "
        f"{list(output_index)} of the output by element {list(input_index)} of the input is "
        f"{analytic[row, column]:.6g} by the gradient and {numeric[row, column]:.6g} by finite differences "
        f"({int(mismatch.sum())} of {mismatch.size} entries differ).\nnumerical:\n{numeric}\nanalytical:\n{analytic}"
    )


def _numeric(func: Function, inputs: tuple[Any, ...], block: tuple[int, int], out: Tensor, eps: float) -> Array:
    """Return the numerical Jacobian: rows are elements of the output, columns of the input."""
    array = inputs[block[1]]._numbers()
    jacobian = np.zeros((int(out.numel()), array.size))
    for column, index in enumerate(itertools.product(*map(range, array.shape))):
        center = array[index].item()
        array[index] = center + eps
        above = _value(func, inputs, block[0])
        array[index] = center - eps
        below = _value(func, inputs, block[0])
        array[index] = center
        jacobian[:, column] = (above - below) / (2 * eps)
    return jacobian


def _value(func: Function, inputs: tuple[Any, ...], number: int) -> Array:
    """Return a copy of an output's values."""
    return np.array(_outputs(func(*inputs))[number].detach().cpu().double().numpy()).reshape(-1)


def _analytic(out: Tensor, value: Tensor, block: tuple[int, int], options: CheckOptions) -> Array:
    count = int(out.numel())
    jacobian = np.zeros((count, int(value.numel())))
    if not out.requires_grad:
        return jacobian
    seeds = np.eye(count).reshape(count, *out.shape)
    for row in range(count):
        seed = as_tensor(seeds[row]).to(dtype=out.dtype, device=out.device)
        jacobian[row] = _row(out, value, seed, block, options)
    if options.batched and count:
        batch = as_tensor(seeds).to(dtype=out.dtype, device=out.device)
        (rows,) = grad(out, value, batch, retain_graph=True, allow_unused=True, is_grads_batched=True)
        if rows is not None and not np.allclose(_numbers(rows).reshape(jacobian.shape), jacobian):
            raise GradcheckError(f"gradcheck: batched and single gradients differ for output {block[0]}")
    return jacobian


def _row(out: Tensor, value: Tensor, seed: Tensor, block: tuple[int, int], options: CheckOptions) -> Array:
    """Return the gradient for one gradient of the output, after checks of dtype and determinism."""
    (first,) = grad(out, value, seed, retain_graph=True, allow_unused=True)
    (second,) = grad(out, value, seed, retain_graph=True, allow_unused=True)
    if first is None or second is None:
        return np.zeros(int(value.numel()))
    if options.dtypes and first.dtype is not value.dtype:
        raise GradcheckError(
            f"gradcheck: the gradient of input {block[1]} is {first.dtype.name}, the input {value.dtype.name}"
        )
    a, b = _numbers(first), _numbers(second)
    if not np.allclose(a, b, rtol=0, atol=options.nondet, equal_nan=True):
        raise GradcheckError(
            f"gradcheck: backward is not reentrant: two passes for output {block[0]} with respect to input {block[1]} "
            f"differ by up to {np.abs(a - b).max():.3g}. Raise nondet_tol if that is expected."
        )
    return a.reshape(-1)


def _compare_projection(
    func: Function, inputs: tuple[Any, ...], block: tuple[int, int], out: Tensor, options: CheckOptions
) -> None:
    """Compare a random combination of the outputs along a random direction of the input."""
    generator = Generator(0, stream=block[0] * 1000 + block[1])
    value = inputs[block[1]]
    array = value._numbers()
    v, u = generator.uniform(tuple(out.shape), float64), generator.uniform(array.shape, float64)
    center = array.copy()
    array[...] = center + options.eps * value.new_tensor(u)._numbers()
    above = _value(func, inputs, block[0])
    array[...] = center - options.eps * value.new_tensor(u)._numbers()
    below = _value(func, inputs, block[0])
    array[...] = center
    numeric = float(v.reshape(-1) @ (above - below)) / (2 * options.eps)
    analytic = 0.0
    if out.requires_grad:
        seed = as_tensor(v).to(dtype=out.dtype, device=out.device)
        analytic = float(_row(out, value, seed, block, options) @ u.reshape(-1))
    if not np.isclose(analytic, numeric, rtol=options.rtol, atol=options.atol * max(1.0, float(v.sum() * u.sum()))):
        raise GradcheckError(
            f"gradcheck: Jacobian mismatch for output {block[0]} with respect to input {block[1]}: in a random "
            f"direction it is {analytic:.6g} by the gradient and {numeric:.6g} by finite differences.",
            in_code="Use fast_mode=False to see which element differs.",
        )


def _outputs(result: Any) -> tuple[Tensor, ...]:
    outputs = (result,) if isinstance(result, Tensor) else tuple(result)
    for output in outputs:
        if not isinstance(output, Tensor):
            raise TypeError(f"gradcheck: the function must return tensors, not {type(output).__name__}")
    return outputs


def _differentiable(result: Any) -> tuple[Tensor, ...]:
    outputs = tuple([out for out in _outputs(result) if out.requires_grad])
    if not outputs:
        raise AutogradError("gradgradcheck: no output of the function requires gradients")
    return outputs


def _weights(outputs: Sequence[Tensor], *, contiguous: bool) -> list[Tensor]:
    """Return random gradients of `outputs`; always the same, so that failures are reproducible."""
    generator = Generator(0)
    weights: list[Tensor] = []
    for out in outputs:
        numbers = generator.normal(tuple(out.shape), float64)
        if not contiguous:
            numbers = np.repeat(numbers[..., None], 2, -1)[..., 0]
        weights.append(as_tensor(numbers).to(dtype=out.dtype, device=out.device).requires_grad_())
    return weights


def _numbers(tensor: Tensor) -> Array:
    return tensor.detach().cpu().double().numpy()


__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]
