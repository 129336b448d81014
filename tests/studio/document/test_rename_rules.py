"""Rules that rename tensors, and their place in project files."""

from __future__ import annotations

import time
from typing import Any

import pytest

from studio.document import edits
from studio.document.document_difference import difference
from studio.document.document_errors import FileError
from studio.document.files.project_format import dumps, loads
from studio.document.model import Document, ImportedWeights, Node, RenameRule
from studio.document.rename_rules import matches, pattern_problem, renamed, rule_problem


def test_rules_are_applied_one_after_another() -> None:
    rules = [RenameRule(r"^module\."), RenameRule(r"layer(\d)", r"layers.\1"), RenameRule("gamma$", "weight")]
    assert renamed("module.layer3.gamma", rules) == "layers.3.weight"
    assert renamed("x", []) == "x"
    assert renamed("module." + "x" * 600, rules).startswith("module.")
    assert matches("a.w", [r"\.w$"])
    assert not matches("a.b", [r"\.w$"])


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("(", "is not a regular expression"),
        ("a{99999999999}", "is not a regular expression"),
        ("(a+)+$", "repeats a group"),
        ("(a|b)*", "repeats a group"),
        ("(?:a){2,}", "repeats a group"),
        (".*.*.*.*.*x", "has more than 4 repetitions"),
        (r"(?:module\.)?\(*[)+*]+", ""),
        (r"^encoder\.(\d+)\.", ""),
    ],
)
def test_patterns(pattern: str, problem: str) -> None:
    assert pattern_problem(pattern).startswith(problem)
    assert bool(pattern_problem(pattern)) is bool(problem)


def test_replacements() -> None:
    assert "does not fit its pattern" in rule_problem(RenameRule("a", r"\1"))
    assert not rule_problem(RenameRule("(a)", r"\1"))


def test_allowed_patterns_are_fast() -> None:
    began = time.process_time()
    renamed("a" * 499 + "b", [RenameRule("a*a*a*c", "")])
    assert time.process_time() - began < 20


def test_files_keep_the_weights() -> None:
    weights = ImportedWeights("w.pt", "model", (RenameRule("^a", "b"), RenameRule("c")), (r"c_attn\.weight$",))
    document = Document(weights=weights)
    assert loads(dumps(document)) == document
    assert '"weights"' not in dumps(Document())
    change = difference(Document(), document)
    assert change.apply(Document()) == document
    assert difference(document, Document()).apply(document) == Document()
    assert not difference(document, document)


def test_rules_follow_renamed_nodes() -> None:
    document = Document(
        nodes={"fc": Node("nn.Linear")}, weights=ImportedWeights("w.pt", rename=(RenameRule("^module."),))
    )
    changed = edits.rename(document, "fc", "hidden")
    assert changed.weights is not None
    assert renamed("module.fc.weight", changed.weights.rename) == "hidden.weight"
    assert edits.rename(changed, "hidden", "fc") == document


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ("3", "weights"),
        ("{}", "weights"),
        ('{"file": ""}', "weights.file"),
        ('{"file": "a", "rename": [{"pattern": "(a+)+"}]}', r"weights\.rename\[0\]: pattern .* repeats a group"),
        ('{"file": "a", "transpose": ["("]}', r"weights\.transpose\[0\]: is not a regular expression"),
        ('{"file": "a", "more": 1}', "more"),
    ],
)
def test_damaged_weights_are_named(raw: str, message: str) -> None:
    text: Any = dumps(Document()).replace("\n}", f',\n  "weights": {raw}\n}}')
    with pytest.raises(FileError, match=message):
        loads(text)
