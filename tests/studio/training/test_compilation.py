"""The training step of every template compiles in one piece, and is told in the words of its canvas."""

from __future__ import annotations

import pytest

from engine.compiler import Explanation
from studio.document.templates import Template, templates
from studio.lowering.program import lower
from studio.nodes.catalogue import catalogue
from studio.training.compilation import explain_step


def explained(template: Template) -> Explanation:
    program = lower(template.document, catalogue())
    return explain_step(program.build(), program, repeat=1, wait=False)


@pytest.mark.parametrize("template", templates(), ids=lambda template: template.key)
def test_templates_have_no_breaks(template: Template) -> None:
    found = explained(template)
    assert found.breaks == ()
    assert found.recompiles == ()
    (segment,) = found.segments
    assert segment.ended_by is None
    named = {operation.line.node for operation in segment.operations if operation.line}
    assert None not in named
    assert named <= set(template.document.nodes)
    assert {operation.line.node for operation in segment.operations if operation.line and operation.backward} >= {
        name for name, node in template.document.nodes.items() if node.type in ("nn.Linear", "nn.Conv2d")
    }
