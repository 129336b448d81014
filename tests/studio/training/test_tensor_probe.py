"""Values and gradients of wires and parameters, checked by recomputation with the training program."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from studio.document import edits
from studio.document.files import project_files
from studio.document.model import Document, Node, Wire
from studio.lowering.check import check
from studio.lowering.program import LoweringError
from studio.lowering.report import Report
from studio.nodes.catalogue import catalogue
from studio.nodes.types import Role
from studio.training.data.data_chain import ChainOpener
from studio.training.probing.node_probe import COMPUTED, NodeProbe
from studio.training.probing.probe_target import ProbeTarget
from studio.training.probing.recomputation import initial_weights, recompute, verify
from studio.training.probing.tensor_probe import NO_LOSS, UNREACHED, ProbedBatch, ProbedTensor, probe_tensors
from studio.training.training_session import TrainingSession

TEMPLATES = sorted((Path(__file__).parents[3] / "assets" / "templates").glob("*.gradwire"))


def output(text: str, *, is_gradient: bool = False) -> ProbeTarget:
    node, _, port = text.rpartition(".")
    return ProbeTarget(node, port, is_gradient=is_gradient)


def parameter(node: str, name: str, *, is_gradient: bool = False) -> ProbeTarget:
    return ProbeTarget(node, name, "parameter", is_gradient)


def probed(document: Document, targets: Collection[ProbeTarget]) -> ProbedBatch:
    report = check(document, catalogue())
    return probe_tensors(report, NodeProbe(report.checked, ChainOpener()), targets)


def all_targets(report: Report, probe: NodeProbe) -> list[ProbeTarget]:
    """Every wire and parameter that a run computes, and their gradients."""
    graph, targets = report.checked.graph, list[ProbeTarget]()
    for name in (name for name in graph.order if name in graph.needed):
        if graph.types[name].role in {*COMPUTED, Role.LOADER}:
            targets += [ProbeTarget(name, port.name) for port in graph.types[name].outputs]
        if graph.types[name].role is Role.LAYER:
            targets += [parameter(name, each) for each, _ in probe.layer(name).named_parameters()]
    return [*targets, *(replace(each, is_gradient=True) for each in targets)]


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_everything_that_probes_show_is_computed_again_by_the_training_program(path: Path) -> None:
    report = check(project_files.load(path), catalogue(), path.parent)
    weights = initial_weights(report)
    probe = NodeProbe(report.checked, ChainOpener(), weights)
    targets = all_targets(report, probe)
    found = probe_tensors(report, probe, targets)
    assert found.tensors.keys() == set(targets)
    verified = verify(found.tensors.values(), recompute(report, weights, targets))
    assert not {each.title: result for each, result in verified.items() if not result.is_identical}
    problems = {each.problem for each in found.tensors.values() if each.problem}
    reasons = (UNREACHED, "they have no gradient", "no tensor in this step")
    assert all(any(reason in problem for reason in reasons) for problem in problems)
    assert len(verified) > 0.8 * len(targets)


def test_a_wrong_value_is_found(digits: Callable[..., Document]) -> None:
    report = check(digits(), catalogue())
    target, small, lost = output("logits.output"), output("hidden.output"), output("flatten.output")
    found = probe_tensors(report, NodeProbe(report.checked, ChainOpener(), initial_weights(report)), [target, small])
    again = recompute(report, None, [target, small])
    array, close = found.tensors[target].array, found.tensors[small].array
    assert array is not None and close is not None
    array[0, 0] += 0.5
    close[0, 0] *= 1 + 1e-6
    missing = ProbedTensor(lost, array, "float32")
    results = verify([*found.tensors.values(), missing], again)
    assert not results[target].is_confirmed and results[target].difference == pytest.approx(0.5, rel=1e-3)
    assert results[small].is_confirmed and not results[small].is_identical
    assert "does not compute" in results[lost].problem
    array[0, 1] = np.nan
    assert verify([found.tensors[target]], again)[target].difference == np.inf


def test_gradients_are_those_of_the_loss(digits: Callable[..., Document]) -> None:
    """The gradient of a linear layer's weight is the product of its input and the gradient of its output."""
    wanted = [
        output("hidden.output", is_gradient=True),
        output("flatten.output"),
        parameter("hidden", "weight", is_gradient=True),
        output("flatten.output", is_gradient=True),
        parameter("hidden", "weight"),
    ]
    found = probed(digits(), wanted).tensors
    upstream, inputs, weight_gradient, input_gradient, weight = (found[each].array for each in wanted)
    assert upstream is not None and inputs is not None and weight is not None
    assert weight_gradient == pytest.approx(upstream.T @ inputs, abs=1e-5)
    assert input_gradient == pytest.approx(upstream @ weight, abs=1e-6), "also before the first parameter"
    assert found[wanted[0]].loss == "loss" and found[wanted[1]].loss == ""
    assert found[wanted[0]].has_batch and not found[wanted[2]].has_batch


def test_why_there_is_no_gradient(digits: Callable[..., Document]) -> None:
    made = digits()
    weight, wire = parameter("hidden", "weight", is_gradient=True), output("logits.output", is_gradient=True)
    frozen = edits.set_flag(made, ["hidden"], frozen=True)
    assert "hidden is frozen" in probed(frozen, [weight]).tensors[weight].problem
    unfinished = edits.remove(made, [name for name in made.nodes if name in ("loss", "adam", "accuracy")])
    found = probed(unfinished, [weight, wire, output("logits.output")]).tensors
    assert found[weight].problem == found[wire].problem == NO_LOSS
    assert found[output("logits.output")].array is not None, "values need no loss"
    classes = output("loader.target", is_gradient=True)
    assert "int64" in probed(made, [classes]).tensors[classes].problem
    aside = edits.connect(
        edits.add(made, "aside", Node("nn.ReLU")),
        Wire(output("hidden.output").end, ProbeTarget("aside", "input").end),
    )
    unread = output("aside.output", is_gradient=True)
    assert probed(aside, [unread]).tensors[unread].problem == UNREACHED
    missing = parameter("hidden", "scale")
    assert "no parameter scale" in probed(made, [missing]).tensors[missing].problem


def test_a_problem_after_a_probe_does_not_hide_it(digits: Callable[..., Document]) -> None:
    broken = edits.set_param(digits(), "logits", "in_features", 3)
    before, after = output("hidden.output"), output("logits.output")
    gradient = output("hidden.output", is_gradient=True)
    found = probed(broken, [before, after, gradient]).tensors
    assert found[before].array is not None
    assert "logits" in found[after].problem and "logits" in found[gradient].problem
    with pytest.raises(LoweringError):
        recompute(check(broken, catalogue()), None, [before])


def test_a_cancelled_computation_stops_after_the_node(digits: Callable[..., Document]) -> None:
    report = check(digits(), catalogue())
    calls: list[int] = []

    def is_cancelled() -> bool:
        calls.append(1)
        return len(calls) > 2

    wanted = [output("loader.input"), output("logits.output"), output("logits.output", is_gradient=True)]
    found = probe_tensors(report, NodeProbe(report.checked, ChainOpener()), wanted, is_cancelled)
    assert found.tensors.keys() == {wanted[0]}


def test_labels_are_the_classes_of_the_batch(digits: Callable[..., Document]) -> None:
    target = output("logits.output")
    found = probed(digits(), [target, output("loader.target")])
    assert found.labels is not None
    assert (found.labels.numbers == found.tensors[output("loader.target")].array).all()


def test_weights_are_those_of_a_run_and_the_run_does_not_change(
    session: Callable[..., TrainingSession], digits: Callable[..., Document]
) -> None:
    """Probes between steps leave the weights of a run at the same bits."""
    made = digits(epochs=1)
    plain, watched = session(made, steps=6), session(made, steps=6)
    plain.start()
    assert plain.join(120)
    report = check(made, catalogue())
    targets = all_targets(report, NodeProbe(report.checked, ChainOpener()))
    for step in range(1, 7):
        watched.step()
        while watched.steps < step or watched.state == "running":
            assert watched.events(60)
        _, weights = watched.copy_weights(60) or (0, {})
        found = probe_tensors(report, NodeProbe(report.checked, ChainOpener(), weights), targets)
        shown = found.tensors[parameter("hidden", "weight")].array
        assert shown is not None and (shown == weights["hidden.weight"].numpy()).all()
    watched.start()
    assert watched.join(120)
    first, second = plain.copy_weights(60) or (0, {}), watched.copy_weights(60) or (0, {})
    assert first[0] == second[0] == 6
    for name, value in first[1].items():
        assert value.numpy().tobytes() == second[1][name].numpy().tobytes(), name
