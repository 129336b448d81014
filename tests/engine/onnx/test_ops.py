"""Every op record has a translator, which agrees with the engine on its samples, or a reason why it has none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from engine.onnx.errors import OnnxExportError
from engine.onnx.exporter import build_model
from engine.onnx.model_writer import register_translators
from engine.onnx.translators import REASONS, TRANSLATORS
from engine.ops.record import REGISTRY, Op
from tests.engine.onnx.runtime import check, spec_of
from tests.engine.ops.sampler import Call, samples

register_translators()

SYNTHETIC = {"arange", "empty"}
"""Names in a trace that are no op: a range of symbolic length, and uninitialized memory."""
INTERNAL = {"assign", "copy_slices", "fill", "to_device"}
"""Ops without a function of their own; models in test_export.py use them."""
KEPT = {"gelu": 1, "layer_norm": 1, "max_pool_with_indices": 1, "lstm_layer": 3, "gru_layer": 2}
"""Number of results that a file can have; the others are for gradients."""


def test_every_op_has_a_translator_or_a_reason() -> None:
    known = TRANSLATORS.keys() | REASONS.keys()
    assert REGISTRY.keys() <= known, "add a translator in engine/onnx/ops, or a reason in unsupported.py"
    assert not TRANSLATORS.keys() & REASONS.keys()
    assert known - REGISTRY.keys() == SYNTHETIC


def arrays_of(record: Op, call: Call) -> tuple[Any, ...]:
    """The tensors of a sample; those of a variadic op are in a tuple."""
    args, _ = call
    return tuple(args[0]) if record.variadic else args


def results_of(record: Op, call: Call, tensors: Iterator[Any]) -> Iterator[Any]:
    """The results of a sample that a file can have, with its arrays replaced by tensors."""
    filled = [next(tensors) if isinstance(one, np.ndarray) else one for one in arrays_of(record, call)]
    args, kwargs = call
    given = (tuple(filled), *args[1:]) if record.variadic else filled
    results = record.function(*given, **kwargs)
    yield from (results,) if record.outputs == 1 else results[: KEPT.get(record.name, record.outputs)]


def is_supported(name: str, call: Call) -> bool:
    """Whether a file can have a call: not recurrent layers with packed sequences, nor LSTM with a projection."""
    args, kwargs = call
    return kwargs.get("batch_sizes") is None and (name != "lstm_layer" or len(args) == 4)


@pytest.mark.parametrize("name", sorted(TRANSLATORS.keys() - SYNTHETIC - INTERNAL))
def test_an_op_agrees_with_onnxruntime(name: str) -> None:
    """All samples are one model: a session takes longer than an op."""
    record = REGISTRY[name]
    calls = [call for call in samples(record, np.float32) if is_supported(name, call)]
    found = [[one for one in arrays_of(record, call) if isinstance(one, np.ndarray)] for call in calls]
    kept = [number for number, arrays in enumerate(found) if all(array.size for array in arrays)]
    assert kept

    def function(*tensors: Any) -> Any:
        remaining = iter(tensors)
        return [result for number in kept for result in results_of(record, calls[number], remaining)]

    check(function, [array for number in kept for array in found[number]])


@pytest.mark.parametrize("name", sorted(REASONS.keys() - SYNTHETIC - {"random"}))
def test_an_op_without_translator_is_refused_with_its_reason(name: str) -> None:
    record = REGISTRY[name]
    call = (samples(record, np.float32) or samples(record, np.float64))[0]
    arrays = [one for one in arrays_of(record, call) if isinstance(one, np.ndarray)]
    inputs = {f"x{index}": spec_of(array) for index, array in enumerate(arrays)}
    with pytest.raises(OnnxExportError) as caught:
        build_model(lambda *tensors: list(results_of(record, call, iter(tensors))), inputs)
    error = caught.value
    assert error.reason == REASONS[name] or "the shape of the result depends on the values" in error.reason
    assert error.location is not None
