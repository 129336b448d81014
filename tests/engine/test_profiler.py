"""Times of ops and named ranges: counts and nesting are exact, times add up, schedules equal PyTorch's."""

from __future__ import annotations

import itertools
import json
import time
from pathlib import Path
from typing import Any

import pytest

import engine
from engine.modes import MODES
from engine.profiler import profile, record_function, schedule, tensorboard_trace_handler


def counts(prof: profile) -> dict[str, int]:
    return {row.key: row.count for row in prof.key_averages()}


def test_counts_and_times_of_ops_and_ranges() -> None:
    @record_function("decorated")
    def waits() -> None:
        time.sleep(0.02)

    x, quiet = engine.ones(4, requires_grad=True), MODES.call_silently
    with profile(activities=[engine.profiler.ProfilerActivity.CPU], record_shapes=True) as prof:
        with record_function("outer"):
            for _ in range(3):
                (x * 2).sum().backward()
            with record_function("inner"):
                waits()
        x.data.add_(1)
    assert (MODES.call_silently, MODES.fast_call) == (quiet, quiet)
    x.exp()
    rows = {row.key: row for row in prof.key_averages()}
    assert (rows["outer"].count, rows["inner"].count, rows["decorated"].count, rows["sum"].count) == (1, 1, 1, 3)
    assert (rows["mul"].count, rows["add"].count) == (
        6,
        1 + 2,
    )  # forward, backward, in-place ops and gradient accumulation
    assert "exp" not in rows
    assert rows["decorated"].cpu_time_total >= 20_000
    assert rows["inner"].cpu_time_total >= rows["decorated"].cpu_time_total
    assert rows["inner"].self_cpu_time_total < 20_000
    assert rows["outer"].cpu_time_total >= rows["inner"].cpu_time_total + rows["sum"].cpu_time_total
    outside = rows["outer"].cpu_time_total
    assert prof.key_averages().self_cpu_time_total == pytest.approx(outside, abs=outside - 20_000)


def test_profiler_does_not_change_results() -> None:
    def steps() -> list[float]:
        engine.manual_seed(0)
        model = engine.nn.Sequential(engine.nn.Linear(3, 4), engine.nn.ReLU(), engine.nn.Linear(4, 1))
        optimizer = engine.optim.Adam(model.parameters())
        losses = []
        for _ in range(3):
            optimizer.zero_grad()
            loss = model(engine.randn(5, 3)).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    plain = steps()
    with profile() as prof:
        assert steps() == plain
    assert counts(prof)["linear"] == 6


def test_tables_and_traces(tmp_path: Path) -> None:
    with profile() as prof, record_function("a range with a long name"):
        engine.ones(3).exp().log()
    table = prof.key_averages().table(sort_by="cpu_time_total", row_limit=1, max_name_column_width=7)
    header, row, total = table.splitlines()
    assert header.split() == ["Name", "Self", "CPU", "%", "Self", "CPU", "CPU", "total", "CPU", "mean", "Calls"]
    assert row.startswith("a range ")
    assert total.startswith("Self CPU time total: ")
    assert len(prof.key_averages().table(row_limit=-1).splitlines()) == 5
    with pytest.raises(ValueError, match="cpu_time_total"):
        prof.key_averages().table(sort_by="cuda_time_total")
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))["traceEvents"]
    assert [(one["name"], one["cat"]) for one in events] == [
        ("exp", "cpu_op"), ("log", "cpu_op"), ("a range with a long name", "user_annotation")
    ]  # fmt: skip
    assert events[0]["ts"] >= events[2]["ts"]
    assert events[1]["ts"] + events[1]["dur"] <= events[2]["ts"] + events[2]["dur"]


@pytest.mark.filterwarnings("ignore:Profiler won't be using warmup")
def test_schedules_match_pytorch() -> None:
    torch: Any = pytest.importorskip("torch")
    for wait, warmup, active, repeat, skip in itertools.product((0, 1, 2), (0, 1), (1, 2), (0, 2), (0, 3)):
        options = {"wait": wait, "warmup": warmup, "active": active, "repeat": repeat, "skip_first": skip}
        ours, theirs = schedule(**options), torch.profiler.schedule(**options)
        assert [ours(step).name for step in range(20)] == [theirs(step).name for step in range(20)], options
    with pytest.raises(ValueError, match="active must be above 0"):
        schedule(wait=1, warmup=0, active=0)


def test_schedule_selects_recorded_steps() -> None:
    """Expected values from PyTorch's profiler, which is not called here because it can end in a segmentation fault."""
    traces: list[list[str]] = []

    def ready(prof: Any) -> None:
        traces.append(sorted(row.key for row in prof.key_averages() if row.key.startswith("step ")))

    with profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=2), on_trace_ready=ready) as prof:
        for number in range(10):
            with record_function(f"step {number}"):
                engine.ones(2).exp()
            prof.step()
    assert traces == [["step 2", "step 3"], ["step 6", "step 7"]]


def test_traces_for_tensorboard(tmp_path: Path) -> None:
    with profile(on_trace_ready=tensorboard_trace_handler(str(tmp_path / "log"), "worker")):
        engine.ones(2).exp()
    (file,) = (tmp_path / "log").iterdir()
    assert file.name.startswith("worker.")
    assert file.name.endswith(".pt.trace.json")


def test_autograd_profiler() -> None:
    with engine.autograd.profiler.profile(use_cuda=False) as prof:
        engine.ones(2).exp()
    assert counts(prof) == {"exp": 1}
    assert prof.table(sort_by="cpu_time_total").splitlines()[1].startswith("exp ")
    assert prof.self_cpu_time_total > 0
    with engine.autograd.profiler.profile(enabled=False) as idle:
        engine.ones(2).exp()
    assert counts(idle) == {}


def test_nested_profilers_raise() -> None:
    with profile() as outer:
        with pytest.raises(RuntimeError, match="another profiler"), profile():
            pass
        engine.ones(2).exp()
    assert counts(outer) == {"exp": 1}
    with record_function("outside"):
        engine.ones(2).exp()
    with pytest.raises(ZeroDivisionError), profile() as failed, record_function("failed"):
        _ = 1 / 0
    assert counts(failed) == {"failed": 1}
