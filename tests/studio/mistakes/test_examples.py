"""Each diagnosis has an example, or a reason why it has none and a test that shows it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from studio.lowering.problems.diagnoses import AREAS, DIAGNOSES
from studio.reference.mistakes import MISTAKES

ROOT = Path(__file__).parents[3] / "tests"
_RUN = "it is about the files and the machine of a run, not about a project"
_COMMAND = "it is about the arguments of a command, not about a project"
_BUG = "only a defect of the program or a failing machine causes it"
_WARNINGS = "studio/training/test_session_warnings.py"
WITHOUT_EXAMPLE: dict[str, tuple[str, str, str]] = {
    "stray-class": (
        "all data sources verify class indices while they read; only a source in a script can have such samples",
        "studio/training/test_statistics.py",
        "test_labels_beyond_the_classes_are_named",
    ),
    "unsafe-code": (
        "no node generates unsafe code; the check of generated code is a second line of defence",
        "studio/lowering/test_verification.py",
        "test_unsafe_programs_are_never_compiled",
    ),
    "slow-data": (
        "the share of the time that a run waits for data depends on the machine and on what else it does",
        "studio/training/diagnosis/test_data_bottleneck.py",
        "test_a_long_wait_is_a_problem_of_the_loader",
    ),
    "oscillating-loss": (
        "rounding decides whether the loss of a training oscillates, diverges or falls; a drawn curve has a margin",
        "studio/training/diagnosis/test_run_diagnosis.py",
        "test_curves_that_rise_or_swing_are_found",
    ),
    "not-learning": (
        "in a project with one mistake a more specific experiment names the cause; only `gradwire overfit` reports it",
        "studio/cli/test_problem_records.py",
        "test_what_is_refused_is_a_whole_record",
    ),
    "bad-usage": (_COMMAND, "studio/cli/test_problem_records.py", "test_what_is_refused_is_a_whole_record"),
    "bad-file": (_COMMAND, "studio/cli/test_problem_records.py", "test_what_is_refused_is_a_whole_record"),
    "bad-input": (_COMMAND, "studio/cli/test_problem_records.py", "test_an_error_of_the_engine_is_a_record"),
    "onnx-unsupported": (
        _COMMAND,
        "studio/export/test_onnx_export.py",
        "test_an_op_without_onnx_form_is_an_error_of_its_node",
    ),
    "onnx-differs": (
        _BUG,
        "studio/export/test_onnx_export.py",
        "test_a_difference_fails_and_names_the_first_node",
    ),
    "run-failed": (_BUG, "studio/cli/test_run.py", "test_a_run_that_fails"),
    "check-failed": (_BUG, "ui/test_background_checker.py", "test_an_error_in_the_check_is_a_problem"),
    "computing": (
        "the check reports what a project can cause before a run; the rest are warnings of libraries",
        "studio/training/test_warning_capture.py",
        "test_each_run_names_the_image_that_it_skips",
    ),
    "disk": (_RUN, "studio/training/test_run_record.py", "test_a_disk_that_gets_full_does_not_end_the_training"),
    "start-from": (_RUN, "studio/training/test_run_resuming.py", "test_a_new_run_takes_what_fits"),
    "resume": (
        _RUN,
        "studio/training/test_run_resuming.py",
        "test_a_corrupt_checkpoint_is_noticed_and_the_one_before_used",
    ),
    "no-lock": (_RUN, _WARNINGS, "test_a_file_system_without_locks_is_reported"),
    "no-autograd-graph": (_BUG, _WARNINGS, "test_a_failed_look_at_the_autograd_graph_does_not_end_the_run"),
    "breakpoint": (
        "the check ignores breakpoints; only a run reports those that name something that the graph lacks",
        "studio/training/breakpoints/test_session_breakpoints.py",
        "test_unknown_nodes_are_named",
    ),
    "not-measured": (_BUG, "studio/training/statistics/test_measured_runs.py", "test_a_failure_is_reported_once"),
    "not-exported": (
        "only an export reports it; the project itself is sound and trains",
        "studio/cli/test_export.py",
        "test_what_cannot_be_exported_is_one_error",
    ),
    "not-reproduced": (_COMMAND, "studio/cli/test_reproduce.py", "test_a_project_without_a_failure_gives_exit_code_1"),
    "answers": (
        "it is about the inputs of a prediction, not about a project",
        "studio/cli/test_model_commands.py",
        "test_arrays_of_other_numbers_are_taken_as_the_source_gives_them",
    ),
}
"""Codes without a planted mistake: the reason, and the file and the function of the test that shows the problem."""


@pytest.mark.parametrize("area", AREAS)
def test_each_diagnosis_has_an_example(area: str) -> None:
    with_example = {mistake.code for mistake in MISTAKES}
    missing = {diagnosis.code for diagnosis in AREAS[area]} - with_example - WITHOUT_EXAMPLE.keys()
    assert sorted(missing) == [], "plant such a mistake in studio/reference/mistakes"


def test_only_codes_without_an_example_are_listed() -> None:
    with_example = {mistake.code for mistake in MISTAKES}
    assert sorted(WITHOUT_EXAMPLE.keys() - DIAGNOSES.keys()) == []
    assert sorted(WITHOUT_EXAMPLE.keys() & with_example) == []


@pytest.mark.parametrize("code", WITHOUT_EXAMPLE)
def test_the_named_test_exists(code: str) -> None:
    _, file, name = WITHOUT_EXAMPLE[code]
    assert re.search(rf"^def {name}\(", (ROOT / file).read_text("utf-8"), re.MULTILINE)
