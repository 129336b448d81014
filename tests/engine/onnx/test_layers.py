"""Every declared layer exports, and agrees with onnxruntime for other batch sizes than the traced one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import engine
from engine import nn
from engine.nn.utils import reset_states
from engine.onnx.exporter import build_model
from engine.registry import LAYERS
from engine.shape import Dim, Spec
from tests.engine.onnx.layer_cases import CASES, LayerCase
from tests.engine.onnx.runtime import Runner, assert_close, spec_of


def open_spec(case: LayerCase, array: Any) -> Spec:
    """The spec of an input with a symbolic batch."""
    spec = spec_of(array)
    if case.batch is None:
        return spec
    shape: list[Any] = list(spec.shape)
    shape[case.batch] = Dim("N")
    return spec.with_shape(shape)


def flat(result: Any) -> list[Any]:
    if isinstance(result, engine.Tensor):
        return [result.numpy()]
    return [one for each in result if each is not None for one in flat(each)]


def test_every_layer_has_a_case() -> None:
    assert {entry.target.__name__ for entry in LAYERS} == {case.name for case in CASES}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_layer_agrees_with_onnxruntime(case: LayerCase) -> None:
    engine.manual_seed(0)
    layer = getattr(nn, case.name)(**case.arguments)
    specs = {f"x{index}": open_spec(case, array) for index, array in enumerate(case.inputs())}
    model = build_model(layer, specs).model
    assert layer.training
    layer.eval()
    runner = Runner(model)
    for batch in (None, 1, 3):
        arrays = case.inputs(batch)
        with engine.no_grad():
            engine.manual_seed(3)
            reset_states(layer)
            expected = flat(layer(*[engine.tensor(array) for array in arrays]))
        feeds = dict(zip(specs, arrays, strict=True))
        if case.name == "Noise":
            engine.manual_seed(3)
            feeds["random"] = engine.randn(len(arrays[0]), 64).numpy()
        found = runner.run(feeds)
        assert len(found) == len(expected)
        for theirs, ours in zip(found, expected, strict=True):
            assert_close(theirs, ours, 1e-4)
        if case.batch is None:
            break
    assert all(np.all(np.isfinite(each)) for each in expected) or case.name == "CausalMask"
