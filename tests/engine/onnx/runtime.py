"""Runs ONNX models in onnxruntime and compares them with the engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import engine
from engine.onnx.exporter import build_model
from engine.shape import Spec

ir = pytest.importorskip("onnx_ir")
onnxruntime = pytest.importorskip("onnxruntime")


class Runner:
    """An ONNX model in onnxruntime, on one thread."""

    def __init__(self, model: Any) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(
            ir.to_proto(model).SerializeToString(), options, providers=["CPUExecutionProvider"]
        )

    def run(self, feeds: dict[str, Any]) -> list[Any]:
        """Outputs for the inputs by name."""
        return self.session.run(None, {each.name: feeds[each.name] for each in self.session.get_inputs()})


def spec_of(array: Any) -> Spec:
    """Shape and dtype of an array."""
    return Spec(tuple(array.shape), engine.tensor(array).dtype)


def check(
    function: Callable[..., Any], arrays: Sequence[Any], *, opset: int = 20, tolerance: float = 1e-4, **options: Any
) -> Any:
    """Export a function of arrays, and compare onnxruntime's outputs with the engine's. Returns the model."""
    inputs = {f"x{index}": spec_of(array) for index, array in enumerate(arrays)}
    model = build_model(function, inputs, opset=opset, **options).model
    found = Runner(model).run(dict(zip(inputs, arrays, strict=True)))
    with engine.no_grad():
        expected = function(*[engine.tensor(array) for array in arrays])
    expected = expected if isinstance(expected, (tuple, list)) else (expected,)
    assert len(found) == len(expected)
    for ours, theirs in zip(expected, found, strict=True):
        assert_close(theirs, ours.numpy(), tolerance)
    return model


def assert_close(found: Any, expected: Any, tolerance: float = 1e-4) -> None:
    """Compare an output of onnxruntime with the engine's, with a tolerance relative to the largest number."""
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    scale = np.max(np.abs(expected[np.isfinite(expected)]), initial=1.0) if expected.dtype.kind == "f" else 1
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * scale)
