"""Descriptions of differences between documents."""

from __future__ import annotations

from studio.document import edits
from studio.document.model import Endpoint, Node, Wire
from studio.nodes import catalogue
from studio.training.runs.run_comparison import describe_differences


def test_what_differs_is_named(digits) -> None:
    before = digits()
    now = edits.set_param(before, "loader", "batch_size", 64)
    now = edits.retype(now, "adam", "optim.SGD", {"lr": 0.1})
    now = edits.add(edits.remove(now, ["accuracy"]), "cosine", Node("lr_scheduler.CosineAnnealingLR"))
    now = edits.connect(now, Wire(Endpoint("adam", "optimizer"), Endpoint("cosine", "optimizer")))
    now = edits.set_training(now, epochs=20, clip_norm=1.0)
    assert set(describe_differences(now, before, catalogue())) == {
        "loader.batch_size is 64, not 128",
        "adam is SGD, not Adam",
        "accuracy is removed",
        "cosine is added",
        "epochs is 20, not 2",
        "clip_norm is 1.0, not none",
    }
    loose = edits.disconnect(before, [Wire(Endpoint("loader", "target"), Endpoint("accuracy", "target"))])
    assert describe_differences(loose, before, catalogue()) == [
        f"the wire {Wire(Endpoint('loader', 'target'), Endpoint('accuracy', 'target'))} is removed"
    ]
    assert describe_differences(before, edits.move(before, {"adam": (99.0, 9.0)}), catalogue()) == []
