from __future__ import annotations

import errno
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

import engine
from engine import fit, nn
from engine.io import atomic_file, load_file
from studio.document.document_errors import FileError
from studio.document.model import Document
from studio.reference.mistakes import MISTAKES
from studio.training import Failed, TrainingSession, Warned
from studio.training.runs import run_checkpoints as checkpoints_module
from studio.training.runs import run_record, run_recorder, run_resuming
from studio.training.runs.background_writer import BackgroundWriter
from studio.training.runs.run_checkpoints import CheckpointManager, list_checkpoints, newest_checkpoint

TIMES = ("seconds", "samples_per_second")


def with_checkpoints(document: Document, steps: int) -> Document:
    """Makes checkpoints after N batches, independent of time."""
    return replace(document, training=replace(document.training, checkpoint_steps=steps, checkpoint_seconds=1e6))


@pytest.fixture(autouse=True)
def _none_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a run that is killed for it needs checkpoints in its first seconds."""
    monkeypatch.setattr(checkpoints_module, "_FIRST_SECONDS", 1e6)


class Killed(BaseException):
    """Ends a training as SIGKILL would: nothing is written any more."""


def finished(run: TrainingSession) -> list[Any]:
    run.start()
    assert run.join(600)
    return run.events()


def lines(folder: Path) -> list[dict[str, Any]]:
    """Those of metrics.jsonl, without times."""
    found = (json.loads(text) for text in (folder / "metrics.jsonl").read_text().splitlines())
    return [{name: value for name, value in line.items() if name not in TIMES} for line in found]


def assert_same_run(one: Path, other: Path) -> None:
    assert lines(one) == lines(other)
    for name in ("weights.safetensors", "best.safetensors"):
        mine, others = load_file(one / name), load_file(other / name)
        assert mine.keys() == others.keys()
        assert all(np.array_equal(mine[key].numpy(), others[key].numpy()) for key in mine)
    mine, others = (json.loads((folder / "run.json").read_text()) for folder in (one, other))
    for name in ("state", "settings", "last", "best"):
        assert {**mine[name]} == {**others[name]} if isinstance(mine[name], dict) else mine[name] == others[name]


def resume(session, folder: Path, **options: Any) -> tuple[TrainingSession, list[Any]]:
    found = run_resuming.load_run(folder)
    run = session(found.document, resume=found, **options)
    return run, finished(run)


@pytest.fixture
def cut(session, digits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Creates a run that is killed after N steps, with a checkpoint every seven steps."""

    def make(steps: int = 17) -> Path:
        folder = tmp_path / "cut"
        take = run_record.RunRecord.write_event

        def dies(self: run_record.RunRecord, event: fit.TrainingEvent, weights: Any) -> None:
            if isinstance(event, fit.Step) and event.step == steps:
                self._writer.close()  # what was begun is written, as it would be by and by
                raise Killed
            take(self, event, weights)

        with monkeypatch.context() as patch:
            patch.setattr(run_record.RunRecord, "write_event", dies)
            patch.setattr(run_recorder.RunRecorder, "finish", lambda *_: ())
            patch.setattr("threading.excepthook", lambda *_: None)
            run = session(with_checkpoints(digits(epochs=3), 7), out=folder, seed=3)
            run.start()
            run._ended.wait(600)
            run._state = "failed"
            run._recorder._record.release()
        return folder

    return make


@pytest.fixture
def whole(session, digits, tmp_path: Path) -> Path:
    finished(session(digits(epochs=3), out=tmp_path / "whole", seed=3))
    return tmp_path / "whole"


@pytest.mark.parametrize("steps", [3, 7, 8, 17])
def test_a_resumed_run_is_the_same_run(session, whole: Path, cut, steps: int) -> None:
    folder = cut(steps)
    assert [step for step, _ in list_checkpoints(folder)] == [step for step in (14, 7) if step < steps]
    _, events = resume(session, folder)
    started = next(event for event in events if isinstance(event, fit.Started))
    assert started.step == (steps - 1) // 7 * 7
    assert_same_run(folder, whole)
    assert next(list_checkpoints(folder))[0] == 36


def test_a_stopped_run_goes_on(session, digits, whole: Path, tmp_path: Path) -> None:
    run = session(digits(epochs=3), out=tmp_path / "stopped", seed=3)
    run.step()
    while run.state != "paused":
        run.events(0.05)
    run.stop()
    assert run.join(600)
    assert lines(tmp_path / "stopped")[-1]["reason"] == "stopped"
    resume(session, tmp_path / "stopped")
    assert_same_run(tmp_path / "stopped", whole)


def test_problems_that_a_run_has_shown_stay_in_its_record(session, tmp_path: Path) -> None:
    document = next(each for each in MISTAKES if each.name == "counted_calls").plant(tmp_path)
    finished(session(document, out=tmp_path / "short", epochs=1))
    file = tmp_path / "short" / "run.json"
    content = json.loads(file.read_text())
    [shown] = content["problems"]
    earlier = {**shown, "code": "slow-data", "node": "batches"}
    file.write_text(json.dumps({**content, "problems": [earlier, {**shown, "message": "Before."}]}))
    resume(session, tmp_path / "short", epochs=2)
    assert json.loads(file.read_text())["problems"] == [earlier, shown]


def test_a_run_can_be_made_longer(session, digits, whole: Path, tmp_path: Path) -> None:
    finished(session(digits(epochs=1), out=tmp_path / "short", seed=3))
    resume(session, tmp_path / "short", epochs=3)
    mine, others = lines(tmp_path / "short"), lines(whole)
    assert mine[1:] == others[1:], "the first line tells how many epochs were asked for then"


def test_a_run_that_ends_within_its_first_epoch_leaves_its_best(session, digits, whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "short"
    finished(session(digits(epochs=3), out=folder, seed=3, steps=5))
    about = json.loads((folder / "run.json").read_text())
    assert about["best"] == about["last"] and about["best"]["step"] == 5
    best, weights = load_file(folder / "best.safetensors"), load_file(folder / "weights.safetensors")
    assert all(np.array_equal(best[name].numpy(), weights[name].numpy()) for name in weights)
    resume(session, folder, epochs=3)
    for name in ("weights.safetensors", "best.safetensors"):
        mine, others = load_file(folder / name), load_file(whole / name)
        assert all(np.array_equal(mine[key].numpy(), others[key].numpy()) for key in others), "as if never cut short"
    assert json.loads((folder / "run.json").read_text())["best"] == json.loads((whole / "run.json").read_text())["best"]


def test_the_newest_unfinished_run_is_found(session, cut, whole: Path) -> None:
    runs = whole.parent
    with pytest.raises(FileError, match="contains no unfinished run"):
        run_resuming.find_resumable(runs)
    folder = cut()
    assert run_resuming.find_resumable(runs) == folder
    assert run_resuming.find_resumable(runs, "whole") == run_resuming.find_resumable(runs, str(whole)) == whole
    with pytest.raises(FileError, match="is not a run"):
        run_resuming.find_resumable(runs, "nothing")


@pytest.mark.parametrize("damage", ["cut off", "a bit", "empty", "all"])
def test_a_corrupt_checkpoint_is_noticed_and_the_one_before_used(session, whole: Path, cut, damage: str) -> None:
    folder = cut()
    paths = [path for _, path in list_checkpoints(folder)]
    for path in paths[: None if damage == "all" else 1]:
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= damage in ("a bit", "all")
        path.write_bytes(content[: {"cut off": 1000, "empty": 0}.get(damage)])
    _, events = resume(session, folder)
    warning, lost = [event.message for event in events if isinstance(event, Warned)]
    assert warning.startswith(f"{folder / 'checkpoints'}: ")
    assert [path.name in warning for path in paths] == [True, True], "what was tried, and what is used"
    assert lost.startswith("The run was interrupted in epoch 2 at batch 16 or later. ")
    if damage == "all":
        assert warning.count("is damaged") == 2
        assert lost.endswith("There is no checkpoint. Restarting from epoch 0. Results will be identical.")
    else:
        assert warning.endswith(f"Using the previous checkpoint, {paths[1].name}.")
        assert lost.endswith("from the last checkpoint, batch 7. Results will be identical.")
    started = next(event for event in events if isinstance(event, fit.Started))
    assert started.step == (0 if damage == "all" else 7)
    assert_same_run(folder, whole)


def test_a_run_without_a_sound_checkpoint_has_no_weights_to_begin_with(session, cut) -> None:
    folder = cut()
    for _, path in list_checkpoints(folder):
        path.write_bytes(b"x" * 100)
    with pytest.raises(FileError, match=r"contains no weights.*no checkpoint is valid.*Choose another run") as refused:
        run_resuming.load_weights(folder)
    assert str(refused.value).count("is damaged") == 2


@pytest.mark.parametrize("left", [b"", b"x" * 100_000])
def test_lost_lines_are_reported_with_the_checkpoints(session, cut, left: bytes) -> None:
    folder = cut()
    next(list_checkpoints(folder))[1].write_bytes(b"")
    (folder / "metrics.jsonl").write_bytes(left)
    damaged, lost = run_resuming.load_run(folder).warnings
    assert "Using the previous checkpoint" in damaged
    assert lost.endswith("They remain missing.")


def test_a_name_that_a_damaged_run_may_have(cut) -> None:
    folder = cut()
    (folder / "run.json").write_text("[")
    with pytest.raises(FileError, match=rf"1 is not a run; the run.json of {folder.name} is damaged"):
        run_resuming.find_resumable(folder.parent, "1")


def test_a_run_of_another_graph_says_what_fits(session, digits, cut) -> None:
    folder = cut()
    found = run_resuming.load_run(folder)
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    run = session(digits(epochs=3, hidden={"out_features": 31}), resume=found)
    failed = next(event for event in finished(run) if isinstance(event, Failed))
    assert failed.by_input
    assert "another graph (1 fit; different shape: hidden.weight has 31×64, the checkpoint 32×64" in failed.message
    assert {path: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


def test_a_new_run_takes_what_fits(session, digits, cut, tmp_path: Path) -> None:
    folder = cut()
    wider = digits(epochs=0 + 1, hidden={"out_features": 31})
    run = session(wider, start_from=folder, out=tmp_path / "new", steps=0)
    [warned] = [event for event in finished(run) if isinstance(event, Warned)]
    assert "1 fit; different shape: hidden.weight has 31×64, the checkpoint 32×64" in warned.message
    _, state, _ = newest_checkpoint(folder)
    assert state is not None
    ours, theirs = load_file(tmp_path / "new/weights.safetensors"), run_resuming.weights_in_checkpoint(state)
    assert np.array_equal(ours["logits.bias"].numpy(), theirs["logits.bias"].numpy())
    assert run_resuming.load_weights(next(list_checkpoints(folder))[1]).keys() == theirs.keys()
    assert run_resuming.load_weights(tmp_path / "new").keys() == theirs.keys()
    (tmp_path / "x.txt").write_text("no weights")
    with pytest.raises(FileError, match=r"x\.txt"):
        run_resuming.load_weights(tmp_path / "x.txt")


def test_data_that_have_changed_since(session, cut, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = cut()
    monkeypatch.setattr(
        "studio.training.training_session.fingerprints", lambda _: [{"path": "digits", "sha256": "other"}]
    )
    _, events = resume(session, folder)
    failed = next(event for event in events if isinstance(event, Failed))
    assert "digits has changed since the run started" in failed.message
    assert failed.refused
    assert json.loads((folder / "run.json").read_text())["state"] == "running", "at the time of the interruption"


def test_a_run_is_resumed_once_at_a_time(session, cut, whole: Path) -> None:
    folder = cut()
    late = run_resuming.load_run(folder)
    first = session(late.document, resume=run_resuming.load_run(folder))
    first.step()
    while first.state != "paused":
        first.events(0.05)
    with pytest.raises(FileError, match=r"cut is being trained by this process\. Wait until the run has ended"):
        run_resuming.load_run(folder)
    second = session(late.document, resume=late)
    [refused] = [event for event in finished(second) if isinstance(event, Failed)]
    assert "is being trained by this process" in refused.message and refused.by_input and refused.refused
    finished(first)
    third = session(late.document, resume=late)
    [refused] = [event for event in finished(third) if isinstance(event, Failed)]
    assert refused.message == f"{folder} was changed by another process while it was loaded. Resume the run again."
    assert_same_run(folder, whole)
    assert not (folder / "run.lock").exists()


def test_a_slow_disk_leaves_no_checkpoint_out(session, digits, tmp_path, monkeypatch) -> None:
    write, written = atomic_file.write, list[str]()

    def slow(path: Path, data: bytes) -> Any:
        if path.parent.name == "checkpoints":
            time.sleep(0.05)
            written.append(path.stem)
        return write(path, data)

    monkeypatch.setattr(atomic_file, "write", slow)
    finished(session(with_checkpoints(digits(epochs=1), 2), out=tmp_path / "slow", seed=3, steps=9))
    assert written == [f"step-{step:09d}" for step in (2, 4, 6, 8, 9)]


def failing(monkeypatch: pytest.MonkeyPatch, kind: str, *outcomes: int) -> None:
    """Files of a kind, by folder or name, are written with these error codes one after the other; 0 and later ones
    go well."""
    write, left = atomic_file.write, list(outcomes)

    def tried(path: Path, data: bytes) -> Any:
        if kind in (path.parent.name, path.name) and left and (code := left.pop(0)):
            raise OSError(code, os.strerror(code))
        return write(path, data)

    monkeypatch.setattr(atomic_file, "write", tried)


def test_a_full_disk_is_reported_when_its_state_changes(session, digits, whole: Path, tmp_path, monkeypatch) -> None:
    full, forbidden = errno.ENOSPC, errno.EACCES
    failing(monkeypatch, "checkpoints", 0, full, full, full, 0, 0, full, forbidden, forbidden)
    folder = tmp_path / "full"
    events = finished(session(with_checkpoints(digits(epochs=3), 3), out=folder, seed=3))
    warnings = [event.message for event in events if isinstance(event, Warned)]
    file = str(folder / "checkpoints" / "step-{:09}.safetensors")
    assert [warning.split(". ")[0] for warning in warnings] == [
        f"{file.format(6)} cannot be written: the disk is full",
        "Writing checkpoints succeeded",
        f"{file.format(21)} cannot be written: the disk is full",
        f"{file.format(24)} cannot be written: permission denied",
        "Writing checkpoints succeeded",
    ]
    begun, again, anew, other, at_last = warnings
    assert (
        "Training continues" in begun and "batch 3 (step-000000003.safetensors)" in begun and "Free some space" in begun
    )
    assert file.format(15) in again and "batch 15 " in again
    assert "batch 18 (step-000000018.safetensors)" in anew and "batch 18 " in other
    assert file.format(30) in at_last
    assert_same_run(folder, whole)
    assert next(list_checkpoints(folder))[0] == 36


def test_a_full_disk_before_the_first_checkpoint(session, digits, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(run_recorder, "_RETRY_SECONDS", 0.0)
    failing(monkeypatch, "checkpoints", *[errno.ENOSPC] * 99)
    events = finished(session(with_checkpoints(digits(epochs=1), 2), out=tmp_path / "full"))
    [warning] = [event.message for event in events if isinstance(event, Warned)]
    assert "the run restarts from epoch 0, because there is no checkpoint yet" in warning


def test_the_best_weights_that_could_not_be_written_are_tried_again(digits, tmp_path: Path, monkeypatch) -> None:
    failing(monkeypatch, "best.safetensors", errno.ENOSPC, errno.ENOSPC, 0, errno.ENOSPC)
    writer = BackgroundWriter()
    record = run_record.RunRecord(tmp_path / "run", digits(), {}, writer)

    def best(value: float) -> None:
        event = fit.Epoch(1, 2, value, None, {}, {}, 1.0, 2.0, 0.1, finite=True, best=True)
        record.write_event(event, lambda: {"weight": engine.tensor([value])})

    def tried() -> list[str]:
        record.position(2)
        writer.close()
        return writer.messages()

    best(0.5)
    [full] = tried()
    assert "best.safetensors cannot be written: the disk is full" in full and "kept in memory" in full
    assert tried() == [], "nothing has changed"
    [again] = tried()
    assert again.startswith("Writing the best weights succeeded")
    assert load_file(tmp_path / "run/best.safetensors")["weight"].tolist() == [0.5]
    best(0.25)
    assert "the disk is full" in tried()[0]
    best(0.125)
    assert tried()[0].startswith("Writing the best weights succeeded")
    assert load_file(tmp_path / "run/best.safetensors")["weight"].tolist() == [0.125], "not those before, any more"
    assert tried() == []
    record.close()


def test_checkpoints_take_a_hundredth_of_the_time_at_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("studio.training.runs.run_checkpoints.time.monotonic", lambda: now[0])
    monkeypatch.setattr("studio.training.runs.run_checkpoints.time.perf_counter", lambda: now[0])
    writer = BackgroundWriter()
    checkpoints = CheckpointManager(tmp_path, writer, seconds=10, steps=None, keep=2)
    event = fit.ValidationStep(1, 1, 1)

    def snapshot() -> dict[str, Any]:
        now[0] += 2
        return {}

    assert not checkpoints.should_checkpoint(1, after=event)
    now[0] = 10
    assert checkpoints.should_checkpoint(1, after=event)
    checkpoints.make(1, snapshot)
    writer.close()
    now[0] = 12 + 199
    assert not checkpoints.should_checkpoint(2, after=event), "the snapshot alone took 2 seconds"
    now[0] = 12 + 201 + 100 * writer.cost
    assert checkpoints.should_checkpoint(2, after=event)
    assert not checkpoints.should_checkpoint(1, after=event), "there is one of that batch"


def test_pauses_between_checkpoints_grow_to_the_usual_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(checkpoints_module, "_FIRST_SECONDS", 1.0)
    monkeypatch.setattr(checkpoints_module.time, "monotonic", lambda: now[0])
    writer = BackgroundWriter()
    checkpoints = CheckpointManager(tmp_path, writer, seconds=10, steps=None, keep=2)
    made: list[float] = []
    for tenth in range(500):
        now[0] = tenth / 10
        if checkpoints.should_checkpoint(tenth + 1, after=fit.ValidationStep(1, 1, 1)):
            checkpoints.make(tenth + 1, dict)
            writer.wait()
            writer.cost = 0.0
            made.append(now[0])
    writer.close()
    assert made == [1, 3, 7, 15, 25, 35, 45]


def test_the_last_ones_are_kept(tmp_path: Path) -> None:
    writer = BackgroundWriter()
    checkpoints = CheckpointManager(tmp_path, writer, seconds=0, steps=None, keep=3)
    for step in (8, 9, 10, 11, 100):
        checkpoints.make(step, dict)
    writer.close()
    assert [step for step, _ in list_checkpoints(tmp_path)] == [100, 11, 10]
    assert not (tmp_path / "x").exists()


def test_a_snapshot_is_not_changed_by_what_follows(tmp_path: Path) -> None:
    from tests.engine.fit.clouds import Clouds  # noqa: PLC0415 - another test's task

    training = fit.fit(Clouds(), steps=4)
    for _ in range(3):
        next(training)
    state = training.state_dict()
    before = {name: value.tolist() for name, value in state["task"]["modules"]["model"].items()}
    list(training)
    assert {name: value.tolist() for name, value in state["task"]["modules"]["model"].items()} == before
    assert isinstance(training.task.model, nn.Module)
