"""The compile status of a run: title, tooltip and icon."""

from __future__ import annotations

import pytest

from engine import fit
from studio.training.runs.run_history import Run
from studio.ui.compile_status import compile_status


def make_run(compile_state: fit.CompileState | None, *, compiled: bool | None = True) -> Run:
    training_run = Run(1)
    training_run.compiled, training_run.compile_state = compiled, compile_state
    return training_run


def compile_state(tier: fit.Tier, **changes: int) -> fit.CompileState:
    counts = {"breaks": 0, "recompiles": 0, "kernels": 12, "kernels_ready": 3, "kernels_failed": 0, **changes}
    return fit.CompileState(step=1, tier=tier, **counts)


@pytest.mark.parametrize(
    ("training_run", "title"),
    [
        (make_run(None), "Preparing to compile"),
        (make_run(compile_state("recording")), "Preparing to compile"),
        (make_run(compile_state("interpreted")), "Compiling (3 of 12 kernels ready)"),
        (make_run(compile_state("compiled", breaks=2)), "Partly compiled"),
        (make_run(compile_state("compiled")), "Compiled"),
        (make_run(compile_state("replayed")), "Fully compiled"),
        (make_run(None, compiled=False), "Running without compilation"),
    ],
)
def test_each_compile_state_has_a_title(training_run: Run, title: str) -> None:
    status = compile_status(training_run, compiles=True)
    assert status is not None
    assert status.title == title
    assert status.tip


@pytest.mark.parametrize("run_state", ["done", "stopped", "failed", "interrupted"])
@pytest.mark.parametrize("last_state", [None, compile_state("recording"), compile_state("interpreted")])
def test_run_that_ended_before_compilation_has_its_own_status(
    run_state: str, last_state: fit.CompileState | None
) -> None:
    training_run = make_run(last_state)
    training_run.state = run_state
    status = compile_status(training_run, compiles=True)
    assert status is not None
    assert (status.title, status.token, status.filled) == ("Run ended before compilation finished", "text-dim", 0.0)
    assert "ended" in status.tip


@pytest.mark.parametrize("state_of_run", ["paused", "done"])
def test_compiled_run_keeps_its_status_after_the_end(state_of_run: str) -> None:
    training_run = make_run(compile_state("replayed"))
    training_run.state = state_of_run
    status = compile_status(training_run, compiles=True)
    assert status is not None
    assert status.title == "Fully compiled"


def test_before_a_run_only_compilation_that_is_off_has_a_status() -> None:
    assert compile_status(None, compiles=True) is None
    assert compile_status(make_run(None, compiled=None), compiles=True) is None
    status = compile_status(None, compiles=False)
    assert status is not None
    assert status.title == "Compilation off"
    assert "Eager mode" in status.tip


def test_faster_states_fill_the_icon_further() -> None:
    statuses = [
        compile_status(make_run(compile_state(tier)), compiles=True)
        for tier in ("recording", "interpreted", "compiled", "replayed")
    ]
    filled = [status.filled for status in statuses if status is not None]
    assert filled == sorted(set(filled))
    assert filled[-1] == 1.0


def test_tooltip_has_counts() -> None:
    status = compile_status(
        make_run(compile_state("compiled", breaks=2, recompiles=1, kernels_failed=1)), compiles=True
    )
    assert status is not None
    assert "12 kernels, 2 graph breaks per step, 1 recompile, 1 kernel could not be compiled." in status.tip
