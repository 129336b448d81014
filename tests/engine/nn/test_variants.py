"""The cases of layers and losses once more: in halves, without rows, with one, as views, with NaN and infinity."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import engine
from engine import nn
from tests.engine.nn import test_layers, test_losses, test_sequence_layers
from tests.engine.ops.reference import dtype_of, float_tensors, leaves, map_nested, numbers, to_engine, to_torch

torch = pytest.importorskip("torch")

Array = Any


def special(a: Array) -> Array:
    """NaN, infinities, zeros of both signs, and numbers whose exponentials overflow, among the others."""
    a = a.copy()
    values = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1e3, -1e3])
    flat = a.reshape(-1)
    flat[: len(values)] = values[: len(flat)]
    return flat.reshape(a.shape)


VARIANTS: dict[str, tuple[Any, Callable[[Array], Array]]] = {
    "float16": (np.float16, lambda a: a),
    "bfloat16": (ml_dtypes.bfloat16, lambda a: a),
    "no rows": (np.float64, lambda a: a[:0] if a.ndim else a),
    "one row": (np.float64, lambda a: a[:1] if a.ndim else a),
    "special numbers": (np.float64, lambda a: special(a) if a.dtype.kind == "f" else a),
    "a view": (np.float64, lambda a: a),
}
ROUNDING = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-5, "float64": 1e-9}

OTHERWISE: dict[tuple[str, str], str] = {
    ("EmbeddingBag", "no rows"): "what bags begin with does not count rows; PyTorch crashes",
    ("EmbeddingBag", "one row"): "what bags begin with does not count rows; PyTorch crashes",
    ("LayerNorm(40,)", "float16"): "PyTorch adds up thousands of rows in half precision",
    ("LayerNorm(40,)", "bfloat16"): "PyTorch adds up thousands of rows in half precision",
    ("Transformer", "bfloat16"): "roundings of many layers",
    ("Transformer(8, 2, 1, 2)", "float16"): "roundings of many layers",
    ("LocalResponseNorm-3x4x11-size=3", "special numbers"): "of 0 · ∞, which one formula makes 0, and another NaN",
    ("SoftMarginLoss() large", "float16"): "PyTorch's exponential overflows",
    ("MultiMarginLoss", "no rows"): "PyTorch returns what was in memory",
    ("MultiLabelMarginLoss", "no rows"): "PyTorch returns what was in memory",
    ("MultiMarginLoss", "special numbers"): "PyTorch takes NaN for a margin that is kept",
    ("MultiLabelMarginLoss", "special numbers"): "PyTorch takes NaN for a margin that is kept",
}
"""Which cases, by how their names begin, are not compared in which variants."""
SLOPES_OTHERWISE = {
    "Conv": "0 · NaN of places outside the input, in blocks that reach beyond it",
    "LPPool": "of 0 · ∞, which one formula makes 0, and another NaN",
    "LocalResponseNorm": "of 0 · ∞, which one formula makes 0, and another NaN",
    "RNN": "PyTorch lets the gradient of NaN through a ReLU",
    "Transformer": "PyTorch lets the gradient of NaN through a ReLU",
}
"""Which cases are not compared in their gradients at special numbers."""


def outcome(library: Any, layer: Any, args: Any, kwargs: Any) -> tuple[list[Any], list[Any], list[Any]]:
    """Results, tensors with gradients, and the gradients."""
    results = [x for x in leaves(layer(*args, **kwargs)) if x is not None]
    tracked = [x for x in results if x.requires_grad]
    inputs = [*float_tensors(args), *(p for p in layer.parameters() if p.requires_grad)]
    if not tracked:
        return results, [], []
    weights = [np.cos(np.arange(x.numel())).reshape(tuple(x.shape)) for x in tracked]
    total: Any = sum((x * library.tensor(w, dtype=x.dtype)).sum() for x, w in zip(tracked, weights, strict=True))
    return results, inputs, list(library.autograd.grad(total, inputs, allow_unused=True))


def close(mine: Any, other: Any, rounding: float, except_at: Any = False) -> None:
    """Equal up to rounding; a gradient that one library lacks is 0 in the other."""
    if mine is None or other is None:
        assert not any(numbers(x).any() for x in (mine, other) if x is not None)
        return
    assert (dtype_of(mine), tuple(mine.shape)) == (dtype_of(other), tuple(other.shape))
    actual, expected = (np.where(except_at, 0.0, numbers(x).astype(np.float64)) for x in (mine, other))
    size = max(1.0, float(np.abs(expected[np.isfinite(expected)]).max(initial=0)))
    np.testing.assert_allclose(actual, expected, rtol=rounding, atol=rounding * size)


def view(tensor: Any) -> Any:
    """The same numbers in another order of memory."""
    turned = tuple(reversed(range(tensor.ndim)))
    result = tensor.detach().permute(turned).contiguous().permute(turned)
    return result.requires_grad_() if tensor.requires_grad else result


def compare(case: Any, variant: str, build: Any, args: list[Any], kwargs: Any, tracked: bool = True) -> None:
    """Values and first gradients of the layer that `build` makes for a library, where PyTorch takes the variant."""
    if any(str(case).startswith(name) and variant == which for name, which in OTHERWISE):
        return
    dtype, change = VARIANTS[variant]
    name = np.dtype(dtype).name

    def changed(item: Any) -> Any:
        item = change(item) if isinstance(item, np.ndarray) else item
        return item.astype(dtype) if isinstance(item, np.ndarray) and item.dtype.kind == "f" else item

    args, kwargs = map_nested(changed, (args, kwargs))
    mine, other = (build(library, changed).to(getattr(library, name)) for library in (engine, torch))
    other.load_state_dict({key: to_torch(torch, tensor.numpy()) for key, tensor in mine.state_dict().items()})
    targs = [to_torch(torch, arg, requires_grad=tracked or not index) for index, arg in enumerate(args)]
    try:
        results, inputs, slopes = outcome(torch, other, targs, to_torch(torch, kwargs))
    except (RuntimeError, ValueError, IndexError, NotImplementedError, AssertionError):
        return
    given = [to_engine(arg, requires_grad=tracked or not index) for index, arg in enumerate(args)]
    if variant == "a view":
        given = map_nested(lambda x: view(x) if isinstance(x, engine.Tensor) and x.ndim else x, given)
    result, _, our_slopes = outcome(engine, mine, given, to_engine(kwargs))
    rounding = max(ROUNDING[name], 1e-6 if getattr(case, "coarse", False) else 0.0)
    for ours, theirs in zip(result, results, strict=True):
        close(ours, theirs, rounding)
    if variant != "special numbers" or not any(str(case).startswith(start) for start in SLOPES_OTHERWISE):
        for ours, theirs, leaf in zip(our_slopes, slopes, inputs, strict=True):
            close(ours, theirs, rounding, except_at=np.isnan(numbers(leaf)))  # at NaN PyTorch's kinks are by chance


# -- options ----------------------------------------------------------------------------------

ELSEWHERE: dict[str, set[str]] = {
    "random ops have separate tests": {"p", "dropout"},
    "there is nothing to choose: the default is the one value that is taken": {"padding_mode"},
    "results, not numbers": {"return_indices"},
    "of a bag PyTorch looks up the numbers of another index": {"scale_grad_by_freq"},
    "where and how weights are made": {"device", "dtype", "sparse", "max_norm"},
    "PyTorch's older arguments, which have a separate test": {"size_average", "reduce"},
    "tried in every case": {"inplace", "reduction"},
    "modules of one's own": {"custom_encoder", "custom_decoder"},
    "of the canvas, with separate tests": {"carry_state"},
    "as min_val and max_val": {"min_value", "max_value"},
}
"""Options that no case varies, with the reason."""


def varied() -> dict[str, set[str]]:
    """Options that some case sets to a value other than the default, by layer or loss."""
    result: dict[str, set[str]] = {}
    for case in (*test_layers.CASES, *test_losses.CASES, *test_sequence_layers.CASES):
        arguments = list(inspect.signature(getattr(nn, case.name).__init__).parameters.values())[1:]
        given = dict(case.layer if hasattr(case, "layer") else case.kwargs)
        given |= dict(zip((argument.name for argument in arguments), getattr(case, "args", ()), strict=False))
        options = result.setdefault(case.name, set())
        options |= {
            a.name for a in arguments if a.name in given and (callable(given[a.name]) or given[a.name] != a.default)
        }
    return result


def test_every_option_is_varied() -> None:
    apart = {name for names in ELSEWHERE.values() for name in names}
    for name, options in varied().items():
        arguments = inspect.signature(getattr(nn, name).__init__).parameters.values()
        optional = {a.name for a in arguments if a.default is not inspect.Parameter.empty and a.name[0] != "_"}
        assert optional - options - apart == set(), name


each = pytest.mark.parametrize("variant", VARIANTS)
pytestmark = pytest.mark.filterwarnings("ignore")


@each
@pytest.mark.parametrize("case", test_layers.CASES, ids=str)
def test_layers_in_variants(case: Any, variant: str) -> None:
    def build(library: Any, _: Any) -> Any:
        layer = getattr(library.nn, case.name)(**case.kwargs, **(case.other if library is torch else {}))
        return layer.eval() if case.random else layer

    compare(case, variant, build, [test_layers.random_inputs(case, "float64")], {})


@each
@pytest.mark.parametrize("case", test_sequence_layers.CASES, ids=str)
def test_sequence_layers_in_variants(case: Any, variant: str) -> None:
    def build(library: Any, _: Any) -> Any:
        return getattr(library.nn, case.name)(*case.args, **case.layer)

    compare(case, variant, build, list(case.inputs), case.call)


@each
@pytest.mark.parametrize("reduction", ["mean", "none"])
@pytest.mark.parametrize("case", test_losses.CASES, ids=str)
def test_losses_in_variants(case: Any, reduction: str, variant: str) -> None:
    arguments, given = test_losses.arrays_of(case, "float64", 0)

    def build(library: Any, changed: Any) -> Any:
        convert = to_engine if library is engine else lambda value: to_torch(torch, value)
        whole = map_nested(lambda a: a.astype(changed(a[:0]).dtype) if isinstance(a, np.ndarray) else a, arguments)
        return getattr(library.nn, case.name)(**convert(whole), reduction=reduction)

    compare(case, variant, build, given, {}, tracked=False)
