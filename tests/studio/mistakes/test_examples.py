"""Each diagnosis of the areas that people make mistakes in has an example, or a reason why it has none."""

from __future__ import annotations

import pytest

from studio.lowering.problems.diagnoses import AREAS
from studio.reference.mistakes import MISTAKES

_GRAPHS = "tests/studio/lowering/test_mistakes.py checks it on graphs that do not train"
_SCHEDULES = "tests/studio/lowering/test_schedules.py checks it on plans"
_STATES = "tests/studio/lowering/test_carried_states.py checks it"
_SAMPLES = "tests/studio/training/test_statistics.py checks it on small tables"
_RUNS = "it depends on the time that steps take, or on damaged data"
WITHOUT_EXAMPLE: dict[str, str] = {
    **dict.fromkeys(("wrong-target", "wrong-encoding", "swapped-wires", "wrong-metric", "one-class"), _GRAPHS),
    **dict.fromkeys(("joined-batches", "learning-rate-zero", "learning-rate-too-high", "two-followers"), _GRAPHS),
    **dict.fromkeys(("schedule-alone", "mixed-counting", "schedules-overrule", "schedule-late"), _SCHEDULES),
    **dict.fromkeys(("schedule-short", "schedule-rises"), _SCHEDULES),
    **dict.fromkeys(("state-order", "state-gaps", "state-shared", "state-unused"), _STATES),
    **dict.fromkeys(("bad-division", "no-batch", "rare-class", "not-shuffled", "rows-left-out"), _SAMPLES),
    **dict.fromkeys(("missing-category", "identifier", "unseen-category", "header-values", "leading-zeros"), _SAMPLES),
    **dict.fromkeys(("merged-numbers", "stray-class", "unreadable", "skipped", "missing-class"), _SAMPLES),
    **dict.fromkeys(("diverged", "validation-not-finite", "slow-data"), _RUNS),
    "oscillating-loss": "tests of curves check it; in a run another problem comes first",
    "not-learning": "a more specific experiment names the cause in every sound project",
    "unfit-targets": "data shows it first; tests/studio/cli/test_diagnosis.py makes such targets in a graph",
    **dict.fromkeys(("untrusted-code", "code-failed", "unsafe-code"), "it is about trust and failures of code"),
}
"""Codes without a planted mistake, with the reason."""
CHECKED = ("scores", "layers", "sequences", "optimizers", "data", "runs", "code")


@pytest.mark.parametrize("area", CHECKED)
def test_each_diagnosis_has_an_example(area: str) -> None:
    with_example = {mistake.code for mistake in MISTAKES}
    missing = {diagnosis.code for diagnosis in AREAS[area]} - with_example - WITHOUT_EXAMPLE.keys()
    assert sorted(missing) == [], "plant such a mistake in studio/reference/mistakes"


def test_reasons_are_given_for_existing_codes() -> None:
    known = {diagnosis.code for area in CHECKED for diagnosis in AREAS[area]}
    assert sorted(WITHOUT_EXAMPLE.keys() - known) == []
