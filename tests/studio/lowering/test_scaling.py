"""The remedy for whole numbers depends on how large they are, and leads to a network that learns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from engine import fit
from engine.dtypes import float64, uint8
from studio.document.model import Document, Node
from studio.lowering.analysis.input_scale import InputScale
from studio.nodes.catalogue import catalogue
from studio.training import TrainingSession
from tests.studio.lowering.graphs import digits, fixed, only, report, wire


def raw(source: Node) -> Document:
    """A network for whole numbers as they come from a source."""
    hidden, logits = (Node("nn.Linear", {"out_features": size}) for size in (32, 10))
    made = digits({"flatten": "nn.Flatten", "hidden": hidden, "relu": "nn.ReLU", "logits": logits}, digits=source)
    kept = {name: node for name, node in made.nodes.items() if name != "scale"}
    wires = [one for one in made.wires if "scale" not in (one.source.node, one.target.node)]
    return replace(made, nodes=kept, wires=tuple(sorted([*wires, wire("digits.samples -> batches.samples")])))


def test_digits_from_0_to_16_are_normalized_and_learned() -> None:
    problem = only(raw(Node("data.Digits")))
    assert problem.message == (
        "hidden expects float32 but gets N×64 uint8 from flatten. The values of 256 samples range from 0 to 16. "
        "Insert Normalize from data before batches."
    )
    mended = fixed(raw(Node("data.Digits")), problem)
    assert report(mended).problems == ()
    [normalize] = [node for node in mended.nodes.values() if node.type == "transforms.Normalize"]
    assert normalize.params == {"mean": pytest.approx(4.88, abs=0.2), "std": pytest.approx(6.0, abs=0.2)}
    run = TrainingSession(mended, catalogue(), epochs=10, seed=1, compile=False)
    run.start()
    assert run.join(600)
    last = [event for event in run.events() if isinstance(event, fit.Epoch)][-1]
    assert last.val_loss is not None and last.val_loss < 0.5, "To float would leave 2.1"


def test_images_with_full_range_are_converted_to_float(tmp_path: Path) -> None:
    path = tmp_path / "pictures.npz"
    inputs = np.random.default_rng(0).integers(0, 256, (40, 4, 4), dtype=np.uint8)
    np.savez(path, inputs=inputs, targets=np.arange(40) % 10)
    problem = only(raw(Node("data.NPY", {"path": str(path), "input_name": "inputs", "target_name": "targets"})))
    assert problem.fix is not None and problem.fix.title == "Insert To float before batches"


@pytest.mark.parametrize(
    ("high", "dtype", "suits"), [(255, uint8, True), (1, uint8, False), (1, float64, True), (5000, float64, False)]
)
def test_to_float_is_suggested_if_results_are_near_1(high: float, dtype: object, suits: bool) -> None:
    assert InputScale(1, 0.0, high, {}).suits_to_float(dtype) is suits
