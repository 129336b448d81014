"""The training step of every template compiles, in one segment without code, and is described with nodes."""

from __future__ import annotations

import numpy as np
import pytest

from engine import fit
from engine.compiler import Explanation, wait
from studio.document.files.project_templates import Template, template, templates
from studio.lowering.check import check
from studio.lowering.program import lower
from studio.nodes.catalogue import catalogue
from studio.training.compilation import explain_step
from studio.training.regions import nodes_of_segment


def explained(each: Template) -> Explanation:
    program = lower(check(each.document, catalogue()))
    return explain_step(program.build(), program, repeat=1, wait=False)


BROKEN = "digits-python"
WHOLE = [each for each in templates() if each.key != BROKEN]


def test_the_template_with_code_has_a_break_for_each_unit() -> None:
    found = explained(template(BROKEN))
    first, *between, last = found.segments
    [graph_break] = found.breaks
    assert {each.ended_by for each in (first, *between)} == {"bool"} and last.ended_by is None
    assert graph_break.line is not None
    assert (graph_break.line.node, graph_break.line.code) == ("balance", "if unit > 0:")
    assert graph_break.count == 60 == len(found.segments) - 1
    assert {"hidden", "relu", "balance"} <= set(nodes_of_segment(first))
    assert {"logits", "cross_entropy", "adam"} <= set(nodes_of_segment(last))


@pytest.mark.parametrize("template", WHOLE, ids=lambda template: template.key)
def test_templates_have_no_breaks(template: Template) -> None:
    found = explained(template)
    assert found.breaks == ()
    assert found.recompiles == ()
    (segment,) = found.segments
    assert segment.ended_by is None
    assert all(operation.line.node for operation in segment.operations if operation.line)
    assert set(nodes_of_segment(segment)) <= set(template.document.nodes)
    assert {operation.line.node for operation in segment.operations if operation.line and operation.backward} >= {
        name for name, node in template.document.nodes.items() if node.type in ("nn.Linear", "nn.Conv2d")
    }


TOLERANCES = {"digits-denoising": 5e-3}
"""Largest relative difference of losses and metrics, where four steps amplify rounding more than elsewhere."""


@pytest.mark.parametrize("template", templates(), ids=lambda template: template.key)
def test_templates_train_alike_however_their_steps_run(template: Template) -> None:
    program = lower(check(template.document, catalogue()))

    def trained(*, compile: bool) -> tuple[list[float], bytes]:
        task = program.build(seed=1)
        figures: list[float] = []
        for event in fit.fit(task, steps=4, compile=compile):
            match event:
                case fit.Step():
                    figures += [event.loss, *event.metrics.values()]
                case fit.Epoch():
                    figures += [event.train_loss, event.val_loss or 0.0, *event.val_metrics.values()]
                case _:
                    pass
        return figures, b"".join(one.detach().clone().numpy().tobytes() for one in task.model.state_dict().values())

    first = trained(compile=True)
    wait()
    assert trained(compile=True) == first, "kernels give other numbers than what stands in for them"
    np.testing.assert_allclose(first[0], trained(compile=False)[0], rtol=TOLERANCES.get(template.key, 1e-3))
