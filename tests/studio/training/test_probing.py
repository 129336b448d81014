"""Values and times of nodes: the same as in training, for every template, also in graphs that are not finished."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import engine
from engine import fit
from studio.document import edits
from studio.document.code_trust import TRUST
from studio.document.files import project_files
from studio.document.model import Document, Endpoint, Node
from studio.lowering.check import check
from studio.nodes.catalogue import catalogue
from studio.training import TrainingSession
from studio.training.data.data_chain import ChainOpener
from studio.training.probing.node_probe import COMPUTED, NodeProbe, ProbeError
from studio.training.probing.node_times import NodeTime, NodeTimes, measure_times, with_instances
from studio.training.probing.tensor_statistics import TensorStatistics, tensor_statistics, wire_statistics
from tests.studio.lowering.graphs import document, end

TEMPLATES = sorted((Path(__file__).parents[3] / "assets" / "templates").glob("*.gradwire"))
CODE = "def triple(x: Tensor) -> Tensor:\n    return 3 * x\n"


def probe(made: Document, weights: dict[str, engine.Tensor] | None = None) -> NodeProbe:
    return NodeProbe(check(made, catalogue()).checked, ChainOpener(), weights)


def statistics(made: Document, output: str, **options: dict[str, engine.Tensor]) -> dict[Endpoint, TensorStatistics]:
    found: dict[Endpoint, TensorStatistics] = {}
    for part in wire_statistics(probe(made, **options), end(output)):
        found.update(part)
    return found


def unfinished(*layers: Node) -> Document:
    """Digits through layers called a, b, …, without a loss; and a layer with a problem beside them."""
    names = [chr(ord("a") + index) for index in range(len(layers))]
    nodes: dict[str, str | Node] = {
        "digits": "data.Digits",
        "scale": Node("transforms.Normalize", {"std": 16.0}),
        "batches": "data.Batches",
        "flatten": "nn.Flatten",
        "wrong": Node("nn.Linear", {"in_features": 9, "out_features": 2}),
        **dict(zip(names, layers, strict=True)),
    }
    wires = ["digits.samples -> scale.samples", "scale.samples -> batches.samples", "batches.input -> flatten.input"]
    wires.append("flatten.output -> wrong.input")
    for before, (name, layer) in zip(["flatten", *names], zip(names, layers, strict=True), strict=False):
        port = "x" if layer.type.startswith(("ops.", "studio.")) else "input"
        wires.append(f"{before}.output -> {name}.{port}")
    return document(nodes, wires)


def test_statistics_of_values() -> None:
    values = np.array([[0.0, 1.0, -3.0], [np.nan, np.inf, 0.0]], np.float32)
    found = tensor_statistics(engine.from_numpy(values))
    assert (found.shape, found.dtype, found.count, found.nan, found.infinite) == ((2, 3), "float32", 6, 1, 1)
    assert (found.low, found.high, found.mean) == (-3.0, 1.0, -0.5)
    assert found.zeros == pytest.approx(2 / 6) and sum(found.histogram) == 2, "without zeros"
    assert tensor_statistics(engine.ones(3)).histogram == ()
    half = tensor_statistics(engine.tensor([1.0, 3.0]).bfloat16())
    assert (half.dtype, half.mean, half.high) == ("bfloat16", 2.0, 3.0)
    assert tensor_statistics(engine.tensor([60000.0, 60000.0, 0.0]).half()).mean == 40000
    assert tensor_statistics(engine.tensor([True, False])).mean == 0.5
    nothing = tensor_statistics(engine.tensor([float("nan")]))
    assert (nothing.nan, nothing.mean, nothing.histogram) == (1, 0.0, ())
    assert tensor_statistics(engine.zeros(0)).count == 0
    assert tensor_statistics(engine.tensor([[1, 2], [3, 4]])).elements == (1, 2, 3, 4)
    assert tensor_statistics(engine.zeros(5, 5)).elements == ()


def test_values_before_a_problem_are_computed_without_loss_and_optimizer() -> None:
    made = unfinished(Node("nn.Linear", {"out_features": 5}), Node("nn.ReLU"))
    found = statistics(made, "b.output")
    assert found[end("a.output")].shape == found[end("b.output")].shape == (64, 5)
    assert found[end("b.output")].low == 0 < found[end("b.output")].zeros
    with pytest.raises(ProbeError, match=r"wrong has a problem: .*9"):
        statistics(made, "wrong.output")


def test_untrusted_code_is_not_run() -> None:
    made = unfinished(Node("studio.Python", {"source": CODE}))
    with pytest.raises(ProbeError, match=r"a has Python code that you have not trusted"):
        statistics(made, "a.output")
    TRUST.allow([CODE])
    try:
        found = statistics(made, "a.output")
    finally:
        TRUST.disallow([CODE])
    assert found[end("a.output")].mean == pytest.approx(3 * found[end("flatten.output")].mean)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_every_template(path: Path) -> None:
    """The tensors have the shapes that the check infers; each node has a time."""
    report = check(project_files.load(path), catalogue())
    flow = report.checked
    tried = NodeProbe(flow, ChainOpener())
    for optimizer in flow.graph.optimized:
        for part in wire_statistics(tried, flow.graph.sources(optimizer)["loss"]):
            for output, found in part.items():
                spec = flow.facts[output.node].outputs[output.port]
                sizes = [size.at(found.shape[0]) if hasattr(size, "at") else size for size in spec.shape]
                assert list(found.shape[1:]) == sizes[1:] and found.dtype == spec.dtype.name
                assert not found.nan and not found.infinite


def test_times_of_nodes_and_instances() -> None:
    made = unfinished(Node("nn.Linear", {"out_features": 5}), Node("nn.ReLU"))
    made = edits.remove(made, ["wrong"])
    *_, times = measure_times(probe(made))
    assert isinstance(times, NodeTimes)
    assert (
        set(times.times) == {name for name in made.nodes if probe(made).role(name) in COMPUTED} == {"flatten", "a", "b"}
    )
    assert times.times["flatten"].backward == 0 < times.times["a"].backward
    summed = with_instances({"x.0.a": NodeTime(1, 2), "x.1.a": NodeTime(3, 4), "y": NodeTime(5, 6)})
    assert summed["x.0"] == NodeTime(1, 2) and summed["x"] == NodeTime(4, 6) and len(summed) == 6


def test_values_are_those_of_the_last_step(
    session: Callable[..., TrainingSession], digits: Callable[..., Document]
) -> None:
    made = digits(epochs=1)
    run = session(made)
    assert run.copy_weights(1) is None
    run.step()
    while not [event for event in run.events(60) if isinstance(event, fit.Step)]:
        pass
    step, weights = run.copy_weights(60) or (0, {})
    assert step == 1, "while the run is paused"
    first = statistics(made, "logits.output", weights=weights)[end("logits.output")]
    assert first != statistics(made, "logits.output")[end("logits.output")]
    run.start()
    assert run.join(600)
    last = run.copy_weights(1)
    assert last is not None and last[0] == run.steps
    assert statistics(made, "logits.output", weights=last[1])[end("logits.output")].std > first.std
