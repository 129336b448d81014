"""Profiles: parts add up to the step, kernels cover the nodes, and the training keeps its bits."""

from __future__ import annotations

import csv
import dataclasses
import io
import itertools
import json
import time
from collections.abc import Callable
from math import isclose
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from engine import fit, nn
from engine.compiler import wait
from engine.compiler.plan import ExecutionPlan
from engine.errors import DataError
from engine.modes import MODES
from studio.cli.profile_text import profile_text
from studio.document.blocks.block_grouping import group
from studio.document.model import Document, Endpoint, Wire
from studio.lowering.check import check
from studio.lowering.program import lower
from studio.nodes.catalogue import catalogue
from studio.training import TrainingSession
from studio.training.profiling import training_profile
from studio.training.profiling.hints import hints
from studio.training.profiling.machine_limits import MachineLimits, machine_limits
from studio.training.profiling.profile_data import KernelProfile, MemoryKind, Profile, ProfileStage
from studio.training.profiling.profile_events import Profiled, ProfileFailed
from studio.training.profiling.profile_tables import KERNEL_COLUMNS, csv_text, profile_record
from studio.training.profiling.roofline import bound_seconds, roofline, roofline_point
from studio.training.profiling.step_profiler import StepProfiler
from studio.training.profiling.trace_export import trace_text
from studio.training.profiling.training_profile import ProfileError, profile_project
from tests.compiled import standing_in

LIMITS = MachineLimits("cpu", "test", 100e9, 50e9, 10e9, 1e-6, "2026-01-02T03:04:05+00:00")
TRAINED = {"hidden", "relu", "dropout", "logits", "loss"}


def profiled(document: Document, **options: bool) -> Profile:
    *stages, found = profile_project(check(document, catalogue()), steps=4, name="digits", **options)
    assert all(isinstance(stage, ProfileStage) for stage in stages)
    assert isinstance(found, Profile)
    return found


@pytest.fixture(scope="module")
def profiles() -> dict[str, Profile]:
    return {}


@pytest.fixture(params=["compiled", "eager"])
def profile(request: pytest.FixtureRequest, digits: Callable[..., Document], profiles: dict[str, Profile]) -> Profile:
    """The profile of the digits network; one measurement serves all tests."""
    mode = request.param
    if mode not in profiles:
        profiles[mode] = profiled(digits(), eager=mode == "eager")
    return profiles[mode]


def test_parts_add_up_to_the_step(profile: Profile) -> None:
    assert len(profile.steps) == 4
    assert isclose(sum(part.seconds for part in profile.parts), profile.seconds, rel_tol=1e-9)
    assert all(part.seconds >= 0 for part in profile.parts)
    counted = [step for step in profile.steps if step.is_counted]
    assert isclose(profile.seconds, sum(step.end - step.start for step in counted) / len(counted) / 1e9)
    assert all(profile.phase_seconds(phase) > 0 for phase in ("loader", "forward", "backward", "optimizer", "other"))
    assert profile.batch_size == 128


def test_kernels_agree_with_the_parts_and_cover_all_nodes(profile: Profile) -> None:
    seconds = sum(part.seconds for part in profile.parts if part.kernel is not None)
    assert isclose(seconds, sum(kernel.seconds for kernel in profile.kernels), rel_tol=1e-9)
    assert [kernel.number for kernel in profile.kernels] == list(range(len(profile.kernels)))
    times = profile.node_seconds()
    for phase in ("forward", "backward"):
        covered = {node for kernel in profile.kernels if phase in kernel.phases for node in kernel.nodes}
        assert covered >= TRAINED
        assert {node for node, found in times.items() if phase in found} >= TRAINED
    assert times["adam"].keys() == {"optimizer"}
    assert times["loader"].keys() == {"loader"}
    assert "forward" in times["accuracy"]


def test_figures_of_kernels_are_those_of_their_arrays(profile: Profile) -> None:
    forward, *_ = [
        kernel
        for kernel in profile.kernels
        if kernel.phases == ("forward",) and kernel.nodes == ("hidden",) and kernel.name in ("matmul", "linear")
    ]
    assert forward.flops == 2 * 128 * 64 * 32
    biases = 32 if forward.name == "linear" else 0
    assert (forward.read, forward.written) == (4 * (128 * 64 + 64 * 32 + biases), 4 * 128 * 32)
    assert forward.count == 1


def test_memory_by_node_and_kind(profile: Profile) -> None:
    memory = {node.node: node.kinds for node in profile.memory.nodes}
    expected: dict[MemoryKind, int] = {
        "parameters": 4 * 32 * 65,
        "gradients": 4 * 32 * 65,
        "optimizer state": 8 * 32 * 65,
    }
    assert {kind: memory["hidden"][kind] for kind in expected} == expected
    assert sum(kinds.get("saved for backward", 0) for kinds in memory.values()) >= 4 * 128 * 32
    kept = sum(profile.memory.total(kind) for kind in expected)
    assert profile.memory.peak == kept + profile.memory.intermediate
    assert profile.memory.intermediate > 0
    assert profile.memory.is_planned == (profile.mode == "compiled")


def test_a_trace_follows_the_trace_event_format(profile: Profile) -> None:
    trace = json.loads(trace_text(profile))
    assert trace["displayTimeUnit"] == "ms"
    threads = {e["tid"]: e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "thread_name"}
    complete = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert {event["ph"] for event in trace["traceEvents"]} == {"X", "M"}
    for event in complete:
        assert event.keys() == {"name", "cat", "ph", "pid", "tid", "ts", "dur", "args"}
        assert isinstance(event["name"], str) and event["name"]
        assert event["ts"] >= 0 and event["dur"] >= 0
        assert event["tid"] in threads
    steps = [event for event in complete if event["cat"] == "step"]
    assert [event["name"] for event in steps] == [f"Step {step.number}" for step in profile.steps]
    for thread in threads:  # events of a thread are nested or disjoint, as viewers require
        rows = sorted((e["ts"], e["ts"] + e["dur"]) for e in complete if e["tid"] == thread)
        assert all(before[1] <= after[0] + 1e-3 for before, after in itertools.pairwise(rows))
    for event in complete:
        (step,) = [one for one in steps if one["name"] == f"Step {event['args'].get('step', -1)}"] or [event]
        assert step["ts"] - 1e-3 <= event["ts"] and event["ts"] + event["dur"] <= step["ts"] + step["dur"] + 1e-3


def test_tables_hold_the_profile(profile: Profile) -> None:
    rows = list(csv.DictReader(io.StringIO(csv_text(profile, LIMITS))))
    assert tuple(rows[0]) == KERNEL_COLUMNS
    assert [row["kernel"] for row in rows] == [kernel.name for kernel in profile.kernels]
    assert [float(row["seconds"]) for row in rows] == [kernel.seconds for kernel in profile.kernels]
    record = json.loads(json.dumps(profile_record(profile, LIMITS)))
    assert isclose(sum(record["phases"].values()), record["seconds"])
    assert {node["node"] for node in record["nodes"]} >= TRAINED
    assert record["limits"]["flops"] == 100e9


def test_profiled_steps_keep_their_bits_and_are_restored(digits: Callable[..., Document]) -> None:
    program = lower(check(digits(), catalogue()))

    def trained(*, profiles: bool, compile: bool) -> tuple[list[float], bytes]:
        task = program.build(seed=3)
        profiler, losses = None, list[float]()
        for event in fit.fit(task, steps=14, compile=compile):
            if not isinstance(event, fit.Step):
                continue
            losses.append(event.loss)
            if event.step == 5 and profiles:
                wait()
                profiler = StepProfiler(task, compiled=compile)
                profiler.start()
            elif profiler is not None and event.step <= 10:
                profiler.add(event)
            if event.step == 10 and profiler is not None:
                profiler.stop()
                assert all(step.runs or step.ops for step in profiler.steps)
                before = [len(step.ops) for step in profiler.steps]
            if event.step == 14 and profiler is not None:
                assert [len(step.ops) for step in profiler.steps] == before
        assert MODES.observer is None and MODES.call_silently == MODES.fast_call
        plans = [] if task.step is None else task.step.plans
        assert all("stamp" not in plan.source for plan in plans if isinstance(plan, ExecutionPlan))
        weights = b"".join(np.ascontiguousarray(each.numpy()).tobytes() for each in task.model.state_dict().values())
        return losses, weights

    for compile in (True, False):
        assert trained(profiles=True, compile=compile) == trained(profiles=False, compile=compile)


@pytest.mark.parametrize("compile", [True, False])
def test_steps_that_are_noted_late_keep_their_kernels(digits: Callable[..., Document], compile: bool) -> None:
    """Other threads may run between the end of a step and its event."""
    task = lower(check(digits(), catalogue())).build(seed=3)
    profiler = StepProfiler(task, compiled=compile)
    for event in fit.fit(task, steps=6, compile=compile):
        if isinstance(event, fit.Step):
            while time.perf_counter() < event.ended + 2 * event.seconds:
                pass
            if event.step > 3:
                profiler.add(event)
            elif event.step == 3:
                profiler.start()
    profiler.stop()
    assert len(profiler.steps) == 3
    assert all(step.runs or step.ops for step in profiler.steps)


def test_measured_steps_keep_their_kernels(
    digits: Callable[..., Document], session: Callable[..., TrainingSession]
) -> None:
    """Statistics of the tensors are computed before and after each step, and their time is excluded."""
    running = session(digits(epochs=3), compile=True, probe_steps=1)
    running.profiler.request(5)
    running.start()
    assert running.join(600)
    (profile,) = [event.profile for event in running.events() if isinstance(event, Profiled)]
    assert {node for kernel in profile.kernels for node in kernel.nodes} >= TRAINED


def test_instances_of_a_block_are_told_apart(digits: Callable[..., Document]) -> None:
    document, instance = group(digits(), ["hidden"], "dense")
    (into,) = [wire for wire in document.wires if wire.target.node == instance]
    (out,) = [wire for wire in document.wires if wire.source.node == instance]
    wires = [wire for wire in document.wires if wire is not out]
    wires += [
        Wire(out.source, Endpoint("again", into.target.port)),
        Wire(Endpoint("again", out.source.port), out.target),
    ]
    nodes = {**document.nodes, "again": document.nodes[instance]}
    document = replace(document, nodes=nodes, wires=tuple(sorted(wires)))
    for eager in (False, True):
        times = profiled(document, eager=eager).node_seconds()
        assert {f"{instance}.hidden", "again.hidden", "logits"} <= times.keys()
        assert {"forward", "backward"} <= times["again.hidden"].keys()


def test_kernels_that_never_become_ready_are_waited_for_once(
    digits: Callable[..., Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training_profile, "_STALL_SECONDS", 0.2)
    with standing_in():
        *stages, found = profile_project(check(digits(), catalogue()), steps=2)
    phases = [name for name, _ in itertools.groupby(stage.what for stage in stages if isinstance(stage, ProfileStage))]
    assert phases.count("compiling") == 1
    assert isinstance(found, Profile)
    (note,) = found.notes
    assert "not compiled after 0.2 seconds without progress" in note


def test_the_progress_never_passes_its_total(digits: Callable[..., Document], monkeypatch: pytest.MonkeyPatch) -> None:
    """While plans settle, more steps are trained than planned; their number is unknown."""
    monkeypatch.setattr(training_profile, "_is_settled", lambda _: False)
    monkeypatch.setattr(training_profile, "_MAX_WARM_UP_STEPS", 6)
    *stages, _ = profile_project(check(digits(), catalogue()), steps=2, eager=True)
    warming_up = [stage for stage in stages if isinstance(stage, ProfileStage) and stage.what == "warming up"]
    assert [(stage.done, stage.total) for stage in warming_up] == [(1, 3), (2, 3), (3, 3), (4, 0), (5, 0), (6, 0)]


def test_a_failing_step_names_its_node(digits: Callable[..., Document], monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*arguments: object) -> None:
        raise DataError("the batch is damaged")

    report = check(digits(), catalogue())
    monkeypatch.setattr(nn.Dropout, "forward", failing)
    with pytest.raises(ProfileError, match="the batch is damaged") as caught:
        list(profile_project(report, steps=2))
    assert caught.value.node == "dropout"


# -- roofline


def kernel(
    seconds: float, read: int, written: int, flops: int, *, count: int = 1, dtype: str = "float32"
) -> KernelProfile:
    return KernelProfile(0, "op", "kernel", ("forward",), ("a",), seconds, count, read, written, flops, dtype)


@pytest.mark.parametrize(
    ("found", "bound", "share"),
    [
        (kernel(1e-2, 0, 8 * 10**6, 10**9), "compute", 1.0),
        (kernel(2e-2, 0, 8 * 10**6, 10**9, dtype="float64"), "compute", 1.0),
        (kernel(2e-2, 5 * 10**7, 5 * 10**7, 10**6), "memory", 0.5),
        (kernel(1.5e-6, 10**4, 0, 10**3), "overhead", 2 / 3),
        (kernel(1e-3, 10**5, 0, 10**3), "overhead", 0.01),
        (kernel(1e-3, 0, 0, 0), "unknown", 0.0),
    ],
)
def test_positions_under_the_roofline(found: KernelProfile, bound: str, share: float) -> None:
    point = roofline_point(found, LIMITS)
    assert point.bound == bound
    assert isclose(point.share, share, rel_tol=1e-9)
    assert point.limit <= LIMITS.flops


def test_limits_are_measured_once_and_again_on_request(tmp_path: Path) -> None:
    first = machine_limits(folder=tmp_path)
    assert first.flops > first.double_flops * 0.5 > 0 and first.bandwidth > 0 and first.overhead > 0
    assert machine_limits(folder=tmp_path) == first
    (file,) = tmp_path.iterdir()
    record = json.loads(file.read_text())
    for limits in record["limits"].values():
        limits["flops"] = 1.0
    file.write_text(json.dumps(record))
    assert machine_limits(folder=tmp_path).flops == 1.0
    assert machine_limits(folder=tmp_path, again=True).flops > 1.0
    file.write_text("{")
    assert machine_limits(folder=tmp_path).flops > 1.0, "a damaged file is measured again"


def test_time_in_kernels_by_bound(profile: Profile) -> None:
    points = roofline(profile, LIMITS)
    assert isclose(sum(bound_seconds(points).values()), sum(point.kernel.seconds for point in points))


def test_hints_name_the_largest_parts(profile: Profile) -> None:
    parts = tuple(
        dataclasses.replace(part, seconds=9 * profile.seconds) if part.phase == "loader" else part
        for part in profile.parts
    )
    slow = dataclasses.replace(profile, parts=parts, seconds=10 * profile.seconds)
    first, *_ = hints(slow, LIMITS)
    assert first.node == "loader"
    assert "90%" in first.text
    assert "workers" in first.text


def test_a_profile_without_kernels_has_hints_and_tables(profile: Profile) -> None:
    parts = tuple(dataclasses.replace(part, kernel=None) for part in profile.parts)
    empty = dataclasses.replace(profile, kernels=(), parts=parts, notes=("a note",))
    assert hints(empty, LIMITS)[-1].text == "a note"
    assert profile_text(empty, LIMITS)
    assert csv_text(empty, LIMITS)


# -- a session


@pytest.mark.parametrize("compile", [True, False])
def test_a_running_session_is_profiled_without_changing_its_bits(
    digits: Callable[..., Document], session: Callable[..., TrainingSession], compile: bool
) -> None:
    def weights(*, profiles: bool) -> dict[str, bytes]:
        running = session(digits(epochs=3), compile=compile)
        if profiles:
            running.profiler.request(5)
        running.start()
        assert running.join(600)
        assert running.state == "done"
        found = [event for event in running.events() if isinstance(event, (Profiled, ProfileFailed))]
        assert len(found) == profiles
        for event in found:
            assert isinstance(event, Profiled)
            profile = event.profile
            assert (profile.mode, len(profile.steps)) == ("compiled" if compile else "eager", 5)
            assert isclose(sum(part.seconds for part in profile.parts), profile.seconds, rel_tol=1e-9)
            assert all(part.seconds >= 0 for part in profile.parts)
        copied = running.copy_weights(1.0)
        assert copied is not None
        return {name: np.ascontiguousarray(value.numpy()).tobytes() for name, value in copied[1].items()}

    assert weights(profiles=True) == weights(profiles=False)


def test_a_profile_is_cancelled_and_fails_if_the_run_ends_first(
    digits: Callable[..., Document], session: Callable[..., TrainingSession]
) -> None:
    cancelled = session(digits(), steps=6)
    cancelled.profiler.request(3)
    cancelled.profiler.cancel()
    cancelled.start()
    assert cancelled.join(600)
    assert not any(isinstance(event, (Profiled, ProfileFailed)) for event in cancelled.events())
    short = session(digits(), steps=1)
    short.profiler.request(3)
    short.start()
    assert short.join(600)
    assert [type(event) for event in short.events() if isinstance(event, (Profiled, ProfileFailed))] == [ProfileFailed]
    short.profiler.request(3)
    assert [type(event) for event in short.events()] == [ProfileFailed], "a request that comes too late is answered"
