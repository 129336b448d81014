"""Programs with Python nodes: their sources in the text, edits of them, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from studio.document import edits
from studio.document.model import Document
from studio.lowering import LoweringError, check, lower
from studio.lowering.program import Program, shown_program
from studio.lowering.source_import.edits.checked_edits import apply_checked
from studio.lowering.source_import.edits.source_edits import apply_source
from studio.lowering.source_import.reading.code_text import typed_sources
from studio.lowering.source_import.reading.source_errors import SourceError
from studio.lowering.user_code.code_loader import is_trusted
from studio.lowering.user_code.document_code import trust_typed
from studio.nodes import catalogue
from studio.nodes.python_node import DEFAULT_SOURCE, PYTHON
from tests.studio.code import GATE, SCALE, SENTINEL, code, no_trust, trusting, with_code
from tests.studio.lowering.graphs import mlp

__all__ = ["no_trust"]

CALL = "scale(own, factor=3.0)"
OWN = with_code({"own": code(GATE, width=8), "twice": code(SCALE, factor=3.0)})


LINES = ("        self.own = Gate(in_features=64, width=8)", "        twice = scale(own, factor=3.0)")


def shown(document: Document) -> Program:
    return shown_program(check(document, catalogue()), "net")


def edited(document: Document, *replacements: tuple[str, str]) -> Document:
    before = shown(document)
    text = before.source
    for old, new in replacements:
        assert text.count(old) == 1, text
        text = text.replace(old, new)
    return apply_source(document, before, text, catalogue())


def refusal(document: Document, *replacements: tuple[str, str]) -> tuple[int, str]:
    with pytest.raises(SourceError) as caught:
        edited(document, *replacements)
    return caught.value.line, caught.value.message


def line_of(document: Document, text: str) -> int:
    return shown(document).source.split("\n").index(text) + 1


# -- showing ----------------------------------------------------------------------------------


def test_untrusted_code_is_shown_and_not_executed(tmp_path: Path) -> None:
    written = tmp_path / "executed"
    source = SENTINEL.format(path=str(written))
    document = with_code({"own": code(source)})
    report = check(document, catalogue())
    program = shown_program(report, "net")
    assert source.strip("\n") in program.source
    result = apply_checked(document, report, program, program.source.replace("(std=16.0)", "(std=8.0)"), catalogue())
    assert result.nodes["normalize"].params == {"std": 8.0}
    changed = program.source.replace("width: int = 4", "width: int = 5")
    after = apply_checked(document, report, program, changed, catalogue())
    assert after.nodes["own"].params == {"source": source.strip("\n").replace("width: int = 4", "width: int = 5")}
    with pytest.raises(LoweringError, match="not trusted"):
        program.build()
    with pytest.raises(LoweringError, match="not trusted"):
        lower(report, "net")
    assert not written.exists()


# -- edits ------------------------------------------------------------------------------------


def test_edits_elsewhere_keep_each_source_byte_for_byte() -> None:
    result = edited(OWN, ("self.flatten = nn.Flatten()", "self.flat = nn.Flatten()"), ("self.flatten(", "self.flat("))
    assert "flat" in result.nodes
    assert result.nodes["own"] is OWN.nodes["own"]
    assert result.nodes["twice"] is OWN.nodes["twice"]


def test_arguments_of_the_call_are_parameters_of_the_node() -> None:
    result = edited(OWN, ("factor=3.0)", "factor=4.0)"), ("width=8)", "width=12)"))
    assert result.nodes["twice"].params == {"source": SCALE, "factor": 4.0}
    assert result.nodes["own"].params == {"source": GATE, "width": 12}


def test_an_edited_function_is_another_source_of_the_same_node() -> None:
    shifted = "def shifted(x, by: float = 1.0):\n    return x + by"
    result = edited(OWN, (SCALE.strip(), shifted), ("scale(own, factor=3.0)", "shifted(own)"))
    assert result.nodes["twice"].params == {"source": shifted}
    assert result.wires == OWN.wires


SQUASH = """\
import math


def squash(x, *, gain: float = 1.0):
    # bounded
    return math.tau * x.tanh() * gain"""


def test_a_function_that_is_typed_is_a_new_node() -> None:
    imports = shown(mlp()).source.split("\n\n\n")[0]
    result = edited(
        mlp(),
        (imports, f"{imports}\n\n\n# Python node\n{SQUASH}\n\n\n# Graph"),
        ("logits = self.logits(relu)", "squashed = squash(relu, gain=2.0)\n        logits = self.logits(squashed)"),
    )
    assert result.nodes["squashed"].type == PYTHON
    assert result.nodes["squashed"].params == {"source": SQUASH, "gain": 2.0}
    with trusting(SQUASH):
        assert not check(result, catalogue()).errors


def test_a_source_may_be_removed_with_its_call_or_after_it() -> None:
    call = "        twice = scale(own, factor=3.0)\n        scores = self.scores(twice)"
    without_call = (call, "        scores = self.scores(own)")
    assert "twice" not in edited(OWN, without_call).nodes
    assert edited(OWN, without_call, (f"# Python node twice\n{SCALE}", "")) == edited(OWN, without_call)


def test_the_source_of_new_nodes_stays_that_of_new_nodes() -> None:
    document = with_code({"own": "studio.Python"})
    assert edited(document, ("scaled(flatten)", "scaled(flatten, scale=2.0)")).nodes["own"].params == {"scale": 2.0}
    typed = (SCALE.strip(), DEFAULT_SOURCE.strip()), ("scale(flatten)", "scaled(flatten)")
    assert edited(with_code({"own": code(SCALE)}), *typed).nodes["own"].params == {}


def test_lines_like_headings_belong_to_a_source() -> None:
    source = "# Python node other\n# Graph\ndef f(x):\n    return x\n# Python node third\n# Graph\n"
    document = with_code({"own": code(source), "twice": code(SCALE)})
    result = edited(document, ("(std=16.0)", "(std=8.0)"))
    assert result.nodes["own"] is document.nodes["own"]
    assert result.nodes["twice"] is document.nodes["twice"]


# -- trust ------------------------------------------------------------------------------------


def test_typed_sources_are_trusted_unless_the_program_has_untrusted_code(no_trust: Path) -> None:
    program = shown(with_code({"own": code(SCALE)}))
    text = program.source.replace("return factor * x", "return factor + x")
    typed = typed_sources(program, text)
    assert typed == [SCALE.strip().replace("*", "+")]
    trust_typed([section.source for section in program.code], typed)
    assert not is_trusted(typed[0])
    with trusting(SCALE):
        trust_typed([section.source for section in program.code], typed)
    assert is_trusted(typed[0])
    assert typed_sources(program, program.source) == []


# -- refusals ---------------------------------------------------------------------------------


def test_what_cannot_be_applied_is_refused_at_its_line() -> None:
    line = line_of(OWN, "def scale(x, factor: float = 2.0):")
    invalid = (line, "The code cannot be used; invalid syntax.")
    assert refusal(OWN, ("def scale(x, factor: float", "def scale(x, factor: :")) == invalid
    assert refusal(OWN, ("return factor * x", "return (factor * x"))[0] == line + 1
    assert "scale returns nothing" in refusal(OWN, ("return factor * x", "y = factor * x"))[1]
    assert refusal(OWN, ("\n# Graph", ""))[1].startswith("The line '# Graph' is missing")
    extra = "\n\n\n# Python node more\ndef more(x):\n    return x\n\n\n# Graph"
    unused = (line + 5, "No class uses more. Call it in forward, or remove it.")
    assert refusal(OWN, ("\n\n\n# Graph", extra)) == unused
    twice = (line + 5, "Two Python nodes define scale. Rename one of the two.")
    assert refusal(OWN, ("\n\n\n# Graph", extra.replace("more(x)", "scale(x)"))) == twice


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            CALL,
            "scale(own, 3.0)",
            "scale takes 1 tensor by position. Pass other arguments by name.",
        ),
        (CALL, "scale(factor=3.0)", "scale(factor=3.0) needs x."),
        (CALL, "scale(own, size=3.0)", "scale has no free input size; it has x."),
        ("Gate(in_features=64, width=8)", "scale()", "scale is a function. Call it in forward."),
        (
            CALL,
            "Gate(own)",
            "Gate is a class. Write self.name = Gate() in __init__, and call self.name here.",
        ),
    ],
)
def test_calls_are_refused(old: str, new: str, message: str) -> None:
    assert refusal(OWN, (old, new)) == (line_of(OWN, *[each for each in LINES if old in each]), message)


def test_code_that_fails_after_the_edit_is_reported_at_its_line() -> None:
    with trusting(GATE, SCALE):
        report = check(OWN, catalogue())
        program = lower(report, "net")
        text = program.source.replace("return factor * x", "y = x\n    return y.view(-1, 7)")
        [typed] = typed_sources(program, text)
        with trusting(typed), pytest.raises(SourceError) as caught:
            apply_checked(OWN, report, program, text, catalogue())
    assert caught.value.line == text.split("\n").index("    return y.view(-1, 7)") + 1


def test_comments_are_refused_in_classes_only() -> None:
    assert edits.clear_param(OWN, "twice", "factor") == edited(OWN, (", factor=3.0", ""))
    assert refusal(OWN, ("self.flatten = nn.Flatten()", "self.flatten = nn.Flatten()  # first"))[1].startswith(
        "A graph has no"
    )
    assert "# doubled" in str(edited(OWN, ("return factor * x", "return factor * x  # doubled")).nodes["twice"].params)
