"""Every op record: gradients equal finite differences, options are sampled, docstrings have a summary."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine
from engine.autograd import gradcheck, gradgradcheck
from engine.ops import REGISTRY
from engine.ops.record import Op
from engine.shape import Spec
from engine.tensors import Tensor
from tests.engine.ops import variants
from tests.engine.ops.reference import INTERNAL, Record, is_public, records
from tests.engine.ops.sampler import samples

OPS = [op for op in REGISTRY.values() if op.name not in INTERNAL]
DIFFERENTIABLE = [op for op in OPS if op.rules]
TWICE = [op for op in DIFFERENTIABLE if op.name != "ctc_posterior"]  # no third derivative


def _tensors(value: Any, requires_grad: bool = False) -> Any:
    if isinstance(value, np.ndarray):
        tensor = engine.tensor(value)
        return tensor.requires_grad_() if requires_grad and value.dtype.kind == "f" else tensor
    return [_tensors(item, requires_grad) for item in value] if isinstance(value, list) else value


def _flat(args: Any) -> list[Any]:
    return [item for arg in args for item in (arg if isinstance(arg, list) else [arg])]


def _outputs(result: Any) -> list[Tensor]:
    return list(result) if isinstance(result, tuple) else [result]


def _objective(result: Any) -> Tensor:
    """A scalar that weights every element differently, so that errors do not cancel."""
    total = engine.tensor(0.0, dtype=engine.float64)
    for out in _outputs(result):
        if out.is_floating_point():
            weights = np.cos(np.arange(out.numel())).reshape(out.shape)
            total = total + (out * engine.tensor(weights)).sum()
    return total


@pytest.mark.parametrize("op", DIFFERENTIABLE, ids=lambda op: op.name)
def test_gradient_equals_finite_difference(op: Op) -> None:
    for args, kwargs in samples(op):
        function, leaves = _scalar_function(op, args, kwargs)
        if not function(*leaves).requires_grad:
            assert all(0 in leaf.shape for leaf in leaves) or op.name == "cast", f"{op.name} lost its history"
            continue
        gradcheck(function, leaves, eps=1e-5, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("op", TWICE, ids=lambda op: op.name)
def test_second_gradient_equals_finite_difference_of_the_first(op: Op) -> None:
    function, leaves = _scalar_function(op, *samples(op)[0])
    if function(*leaves).requires_grad:
        many = sum(leaf.numel() for leaf in leaves) > 40
        gradgradcheck(function, leaves, eps=1e-5, rtol=1e-4, atol=1e-5, fast_mode=many)


def _scalar_function(op: Op, args: Any, kwargs: dict[str, Any]) -> tuple[Callable[..., Tensor], list[Tensor]]:
    """The op as a scalar function of the tensors that require gradients, and these tensors."""
    tensors = _tensors(list(args), requires_grad=True)
    leaves = [t for t in _flat(tensors) if isinstance(t, Tensor) and t.requires_grad]
    return lambda *leaves: _objective(op.function(*tensors, **kwargs)), leaves


@pytest.mark.parametrize("op", [op for op in OPS if op.rejects_booleans], ids=lambda op: op.name)
def test_booleans_raise_dtype_error(op: Op) -> None:
    args, kwargs = variants.with_dtype(samples(op)[0], np.bool_)
    with pytest.raises(engine.errors.DTypeError, match=rf"{op.name}\(\) is not defined for booleans"):
        op.function(*_tensors(list(args)), **kwargs)


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_every_op_has_a_summary_sentence(op: Op) -> None:
    summary = (inspect.getdoc(op.kernel) or "").split("\n\n")[0]
    assert summary.endswith(".")


NOT_SAMPLED: dict[str, str] = {
    "contiguous.memory_format": "there is one memory format",
    "gather.sparse_grad": "there are no sparse gradients",
    "gather.owner": "the caller for error messages",
    "index_select.owner": "the caller for error messages",
    "lu.get_infos": "it only names the results",
    "lu.pivot": "False is for GPUs only, as in PyTorch",
    "max.other": "a tensor instead of a dimension: another overload",
    "min.other": "a tensor instead of a dimension: another overload",
    "qr.some": "columns of Q have no unique sign: test_linalg",
    "segment_reduce.indices": "raises an error, as in PyTorch",
    "svd.compute_uv": "singular vectors have no unique sign: test_linalg",
    "svd.some": "singular vectors have no unique sign: test_linalg",
    "topk.sorted": "any order is correct",
    "unique.sorted": "any order is correct",
}
"""Options that no sample sets, with the reason."""


def options(record: Record) -> dict[str, Any]:
    """Arguments in order with their defaults, `inspect.Parameter.empty` if there is none."""
    parameters = inspect.signature(inspect.unwrap(record.function)).parameters
    if isinstance(record, Op):
        return {
            name: record.defaults.get(name, inspect.Parameter.empty) for name in (*record.inputs, *record.static_names)
        }
    return {name: parameter.default for name, parameter in parameters.items()}


@pytest.mark.parametrize("record", [r for r in records() if is_public(r)], ids=lambda record: record.name)
def test_every_option_is_sampled(record: Record) -> None:
    """Some sample sets each option to another value than the default."""
    defaults, sampled = options(record), set()
    for args, kwargs in samples(record):
        for name, value in (*zip(defaults, args, strict=False), *kwargs.items()):
            default = defaults.get(name)
            if isinstance(value, np.ndarray) or type(value) is not type(default) or value != default:
                sampled.add(name)
    optional = {name for name, default in defaults.items() if default is not inspect.Parameter.empty}
    assert {f"{record.name}.{name}" for name in optional - sampled} <= set(NOT_SAMPLED)


def test_specs_compare_by_value() -> None:
    assert Spec((1, 2), engine.float32) == Spec((1, 2), engine.float32)
