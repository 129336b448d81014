"""How training steps run, in a word: every state of a run has one."""

from __future__ import annotations

import pytest

from engine import fit
from studio.training.runs.run_history import Run
from studio.ui.compile_status import compile_status


def run(state: fit.CompileState | None, *, compiled: bool | None = True) -> Run:
    made = Run(1)
    made.compiled, made.compile_state = compiled, state
    return made


def state(tier: fit.Tier, **changes: int) -> fit.CompileState:
    counts = {"breaks": 0, "recompiles": 0, "kernels": 12, "kernels_ready": 3, "kernels_failed": 0, **changes}
    return fit.CompileState(step=1, tier=tier, **counts)


@pytest.mark.parametrize(
    ("made", "title"),
    [
        (run(None), "Tracing"),
        (run(state("recording")), "Tracing"),
        (run(state("interpreted")), "Compiling (kernels 3/12 ready)"),
        (run(state("compiled")), "Compiled"),
        (run(state("replayed")), "Fully compiled"),
        (run(None, compiled=False), "Eager"),
    ],
)
def test_each_state_has_a_word(made: Run, title: str) -> None:
    tier = compile_status(made, compiles=True)
    assert tier is not None
    assert tier.title == title
    assert tier.tip


@pytest.mark.parametrize("ended", ["done", "stopped", "failed", "interrupted"])
@pytest.mark.parametrize("last", [None, state("recording"), state("interpreted")])
def test_nothing_goes_on_in_a_run_that_ended_before_it_was_compiled(ended: str, last: fit.CompileState | None) -> None:
    made = run(last)
    made.state = ended
    tier = compile_status(made, compiles=True)
    assert tier is not None
    assert (tier.title, tier.token, tier.filled) == ("Run ended before compilation finished", "text-dim", 0.0)
    assert "ended" in tier.tip


@pytest.mark.parametrize("state_of_run", ["paused", "done"])
def test_what_was_compiled_stays_so(state_of_run: str) -> None:
    made = run(state("replayed"))
    made.state = state_of_run
    tier = compile_status(made, compiles=True)
    assert tier is not None
    assert tier.title == "Fully compiled"


def test_before_a_run_only_eager_mode_is_known() -> None:
    assert compile_status(None, compiles=True) is None
    assert compile_status(run(None, compiled=None), compiles=True) is None
    tier = compile_status(None, compiles=False)
    assert tier is not None
    assert tier.title == "Eager"


def test_the_faster_the_fuller() -> None:
    tiers = [
        compile_status(run(state(tier)), compiles=True) for tier in ("recording", "interpreted", "compiled", "replayed")
    ]
    filled = [tier.filled for tier in tiers if tier is not None]
    assert filled == sorted(set(filled))
    assert filled[-1] == 1.0


def test_the_tip_counts() -> None:
    tier = compile_status(run(state("compiled", breaks=2, recompiles=1, kernels_failed=1)), compiles=True)
    assert tier is not None
    assert "12 kernels, 2 graph breaks per step, 1 recompile, 1 kernel could not be compiled." in tier.tip
