"""Laws that hold for every op record: gradients equal finite differences; each says what it does."""

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
from tests.engine.ops.reference import INTERNAL, Record, offered, records
from tests.engine.ops.sampler import samples

OPS = [op for op in REGISTRY.values() if op.name not in INTERNAL]
DIFFERENTIABLE = [op for op in OPS if op.rules]
TWICE = [op for op in DIFFERENTIABLE if op.name != "ctc_posterior"]  # the gradient of ctc, which has no third one


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
    """A scalar that weighs every element differently, so that no error cancels."""
    total = engine.tensor(0.0, dtype=engine.float64)
    for out in _outputs(result):
        if out.is_floating_point():
            weights = np.cos(np.arange(out.numel())).reshape(out.shape)
            total = total + (out * engine.tensor(weights)).sum()
    return total


@pytest.mark.parametrize("op", DIFFERENTIABLE, ids=lambda op: op.name)
def test_gradient_equals_finite_difference(op: Op) -> None:
    for args, kwargs in samples(op):
        weighed, leaves = _weighed(op, args, kwargs)
        if not weighed(*leaves).requires_grad:
            assert all(0 in leaf.shape for leaf in leaves) or op.name == "cast", f"{op.name} lost its history"
            continue
        gradcheck(weighed, leaves, eps=1e-5, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("op", TWICE, ids=lambda op: op.name)
def test_second_gradient_equals_finite_difference_of_the_first(op: Op) -> None:
    weighed, leaves = _weighed(op, *samples(op)[0])
    if weighed(*leaves).requires_grad:
        many = sum(leaf.numel() for leaf in leaves) > 40
        gradgradcheck(weighed, leaves, eps=1e-5, rtol=1e-4, atol=1e-5, fast_mode=many)


def _weighed(op: Op, args: Any, kwargs: dict[str, Any]) -> tuple[Callable[..., Tensor], list[Tensor]]:
    """The op as a function of the tensors that have gradients, with a single number as result."""
    tensors = _tensors(list(args), requires_grad=True)
    leaves = [t for t in _flat(tensors) if isinstance(t, Tensor) and t.requires_grad]
    return lambda *leaves: _objective(op.function(*tensors, **kwargs)), leaves


@pytest.mark.parametrize("op", [op for op in OPS if op.numbers], ids=lambda op: op.name)
def test_booleans_are_refused_where_they_mean_nothing(op: Op) -> None:
    args, kwargs = variants.with_dtype(samples(op)[0], np.bool_)
    with pytest.raises(engine.errors.DTypeError, match=rf"{op.name}\(\) is not defined for booleans"):
        op.function(*_tensors(list(args)), **kwargs)


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_every_op_says_what_it_does(op: Op) -> None:
    assert op.kernel.__doc__
    assert op.kernel.__doc__.strip().endswith((".", "."))


NOT_VARIED: dict[str, str] = {
    "contiguous.memory_format": "tensors lie in one order",
    "gather.sparse_grad": "there are no sparse gradients",
    "gather.owner": "whom errors name",
    "index_select.owner": "whom errors name",
    "lu.get_infos": "PyTorch names the results then only",
    "lu.pivot": "PyTorch has it on GPUs only",
    "max.other": "the second tensor's name, which may stand in place of a dimension",
    "min.other": "the second tensor's name, which may stand in place of a dimension",
    "qr.some": "the vectors may point either way: test_linalg",
    "segment_reduce.indices": "refused, as in PyTorch",
    "svd.compute_uv": "the vectors may point either way: test_linalg",
    "svd.some": "the vectors may point either way: test_linalg",
    "topk.sorted": "any order is right",
    "unique.sorted": "any order is right",
}
"""Options that no sample sets, with the reason."""


def options(record: Record) -> dict[str, Any]:
    """Arguments that have defaults, in order, with those."""
    parameters = inspect.signature(inspect.unwrap(record.function)).parameters
    if isinstance(record, Op):
        return {
            name: record.defaults.get(name, inspect.Parameter.empty) for name in (*record.inputs, *record.static_names)
        }
    return {name: parameter.default for name, parameter in parameters.items()}


@pytest.mark.parametrize("record", [r for r in records() if offered(r)], ids=lambda record: record.name)
def test_every_option_is_varied(record: Record) -> None:
    """Some sample sets it to what is not the default."""
    known, given = options(record), set()
    for args, kwargs in samples(record):
        for name, value in (*zip(known, args, strict=False), *kwargs.items()):
            default = known.get(name)
            if isinstance(value, np.ndarray) or type(value) is not type(default) or value != default:
                given.add(name)
    optional = {name for name, default in known.items() if default is not inspect.Parameter.empty}
    assert {f"{record.name}.{name}" for name in optional - given} <= set(NOT_VARIED)


def test_specs_compare_by_value() -> None:
    assert Spec((1, 2), engine.float32) == Spec((1, 2), engine.float32)
