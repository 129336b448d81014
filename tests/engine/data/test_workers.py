from __future__ import annotations

import contextlib
import functools
import gc
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import engine
from engine.data import (
    BatchSampler,
    DataLoader,
    RandomSampler,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    get_worker_info,
)
from engine.data.workers import shared_memory
from engine.random import Generator
from tests.engine.data.worker_sets import (
    Asked,
    Chance,
    Loaded,
    Numbers,
    OddError,
    Pictures,
    Process,
    Told,
    Unreadable,
    Whole,
    refuses,
    who,
)

ROOT = Path(__file__).resolve().parents[3]
HELPERS = ("multiprocessing.resource_tracker", "multiprocessing.forkserver")
"""Processes of Python's own, which end with the program."""
THREADS = {"multiprocessing_context": "threads"}
posix = pytest.mark.skipif(os.name != "posix", reason="uses POSIX signals")


def plain(batch: Any) -> Any:
    return [part.tolist() if isinstance(part, engine.Tensor) else part for part in batch]


def taken(dataset: Any, *args: Any, seed: int = 0, **options: Any) -> list[Any]:
    engine.manual_seed(seed)
    return [plain(batch) for batch in DataLoader(dataset, *args, **options)]


def shared_files() -> list[str]:
    """Files of shared memory that this program or Python's own module has made; others have theirs there as well."""
    folder = Path("/dev/shm")
    names = os.listdir(folder) if folder.is_dir() else []
    return sorted(name for name in names if name.startswith(("gradwire", "psm_")))


def workers() -> list[psutil.Process]:
    found = psutil.Process().children(recursive=True)
    living = [child for child in found if child.status() != psutil.STATUS_ZOMBIE]
    return [child for child in living if not any(helper in " ".join(child.cmdline()) for helper in HELPERS)]


@pytest.fixture
def nothing_left() -> Iterator[None]:
    """No processes, files and descriptors are there that were not before. What earlier tests left may go meanwhile."""
    list(DataLoader(Pictures(2), num_workers=1))  # starts Python's own helpers, which stay
    gc.collect()
    process = psutil.Process()
    before, others = shared_files(), workers()  # kernels compile in a separate process
    files = process.num_fds() if os.name == "posix" else 0
    yield
    assert set(workers()) <= set(others)
    if os.name == "posix":
        assert process.num_fds() <= files
    assert set(shared_files()) <= set(before)


@given(
    size=st.integers(0, 40),
    batch_size=st.integers(1, 9),
    drop_last=st.booleans(),
    shuffle=st.booleans(),
    seed=st.integers(0, 99),
    count=st.sampled_from([1, 4]),
    ahead=st.integers(1, 3),
)
@settings(max_examples=40)
def test_threads_give_the_same_batches(size, batch_size, drop_last, shuffle, seed, count, ahead) -> None:
    options = {"shuffle": shuffle, "drop_last": drop_last, "seed": seed}
    expected = taken(Pictures(size), batch_size, **options)
    options |= THREADS | {"num_workers": count, "prefetch_factor": ahead}
    assert taken(Pictures(size), batch_size, **options) == expected
    unordered = taken(Pictures(size), batch_size, in_order=False, **options)
    assert sorted(batch[1] for batch in unordered) == sorted(batch[1] for batch in expected)


@given(
    size=st.integers(0, 40),
    batch_size=st.integers(1, 9),
    drop_last=st.booleans(),
    seed=st.integers(0, 99),
    count=st.sampled_from([1, 4]),
    persistent=st.booleans(),
)
@settings(max_examples=8)
def test_processes_give_the_same_batches(size, batch_size, drop_last, seed, count, persistent) -> None:
    def passes(**options: Any) -> list[Any]:
        engine.manual_seed(seed)
        loader = DataLoader(Pictures(size), batch_size, shuffle=True, drop_last=drop_last, **options)
        return [[plain(batch) for batch in loader] for _ in range(2)]

    expected = passes()
    assert passes(num_workers=count, persistent_workers=persistent) == expected
    for batches in expected:
        numbers = sorted(number for batch in batches for number in batch[1])
        assert len(set(numbers)) == len(numbers) == (size // batch_size * batch_size if drop_last else size)


@pytest.mark.parametrize("context", ["spawn", "forkserver"])
def test_start_methods(context: str) -> None:
    if context == "forkserver" and os.name != "posix":
        pytest.skip("this platform has no forkserver start method")
    assert taken(Pictures(9), 2, num_workers=2, multiprocessing_context=context) == taken(Pictures(9), 2)
    with pytest.raises(ValueError, match="locks of threads"):
        DataLoader(Pictures(9), num_workers=1, multiprocessing_context="fork")


@pytest.mark.parametrize("dataset", [Numbers(11), Whole(3), Numbers(0), Numbers(3)])
@pytest.mark.parametrize("batch_size", [None, 2])
@pytest.mark.parametrize("drop_last", [False, True])
def test_iterable_datasets_match_pytorch(dataset: Numbers, batch_size: int | None, drop_last: bool) -> None:
    peers = pytest.importorskip("torch.utils.data")
    if batch_size is None and drop_last:
        return

    class Stream(peers.IterableDataset):
        def __iter__(self) -> Any:
            info = peers.get_worker_info()
            numbers = range(dataset.size)
            return iter(numbers if type(dataset) is Whole else numbers[info.id :: info.num_workers])

    options = {"batch_size": batch_size, "drop_last": drop_last, "num_workers": 2}
    theirs = peers.DataLoader(Stream(), multiprocessing_context="fork", **options)
    expected = [batch if isinstance(batch, int) else batch.tolist() for batch in theirs]
    for more in ({}, THREADS):
        ours = DataLoader(dataset, **options, **more)
        assert [batch if isinstance(batch, int) else batch.tolist() for batch in ours] == expected


def test_worker_info() -> None:
    asked = list(DataLoader(Asked(4), None, num_workers=2, worker_init_fn=who))
    assert [entry[:3] for entry in asked] == [(0, 0, 2), (1, 1, 2), (0, 0, 2), (1, 1, 2)]
    assert asked[1][3] == asked[0][3] + 1
    assert {entry[4] for entry in asked} == {1}  # threads of BLAS
    assert get_worker_info() is None
    assert list(DataLoader(Asked(2), None, num_workers=2, worker_init_fn=who, **THREADS))[1][:3] == (1, 1, 2)


def test_workers_import_few_modules() -> None:
    assert list(DataLoader(Loaded(), None, num_workers=1)) == [[[]]]


def test_random_numbers_of_workers_depend_on_the_seed() -> None:
    random.seed(3)
    np.random.seed(3)  # noqa: NPY002 - the global state must not change
    once = taken(Chance(), num_workers=2, seed=5)
    again = taken(Chance(), num_workers=2, seed=5)
    assert once == again != taken(Chance(), num_workers=2, seed=6)
    for numbers in zip(*once, strict=True):
        assert len({value for (value,) in numbers}) == 6
    assert random.random() == random.Random(3).random()
    assert np.random.rand() == np.random.RandomState(3).rand()  # noqa: NPY002
    theirs = [batch[2] for batch in taken(Chance(), seed=5)]
    assert [batch[2] for batch in once] == theirs  # the engine's do not depend on who draws them


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("more", [{}, {"persistent_workers": True}, {"in_order": False}, THREADS])
def test_worker_errors_are_raised(more: dict[str, Any]) -> None:
    kind = "thread" if more is THREADS else "process"
    for met, expected, text in (("odd", OddError, "one and two"), (KeyError("lost"), KeyError, "'lost'")):
        loader = DataLoader(Pictures(20, {5: met}), 2, num_workers=2, **more)
        with pytest.raises(expected) as caught:
            list(loader)
        assert str(caught.value) == text
        first, second = caught.value.__notes__
        assert first == "In sample 5 of Pictures."
        assert second.startswith(f"In worker {kind} ")
        assert more is THREADS or "worker_sets.py" in second
        del caught


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("more", [{}, {"num_workers": 2}, {"num_workers": 2, **THREADS}])
def test_batch_errors_name_the_sample(more: dict[str, Any]) -> None:
    dataset = engine.data.Subset(TensorDataset(engine.arange(5)), [0, 1, 9, 2])
    with pytest.raises(IndexError) as caught:
        list(DataLoader(dataset, 4, **more))
    assert caught.value.__notes__[0] == "In sample 2 of Subset."
    with pytest.raises(ValueError, match="differ in shapes") as caught:
        list(DataLoader([np.ones(2), np.ones(3)], 2, **more))
    assert caught.value.__notes__[0] == "In a batch of the samples 0, 1 of list."
    del caught


@posix
@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("more", [{}, {"persistent_workers": True}, {"in_order": False}])
def test_killed_workers(more: dict[str, Any]) -> None:
    for met, text in (("killed", "was killed by SIGKILL.*memory"), ("ends", "exited with code 3")):
        loader = DataLoader(Pictures(20, {5: met}), 2, num_workers=2, **more)
        with pytest.raises(RuntimeError, match=rf"worker process 0 \(pid \d+\) {text}"):
            list(loader)
        del loader.dataset.fails[5]
        assert len(list(loader)) == 10  # with new workers
        del loader


@pytest.mark.usefixtures("nothing_left")
def test_hanging_workers() -> None:
    with pytest.raises(RuntimeError, match=r"worker 0 returned no batch within timeout=0\.5 seconds"):
        list(DataLoader(Pictures(4, {0: "stops"}), 1, num_workers=1, timeout=0.5))


@pytest.mark.usefixtures("nothing_left")
def test_unpicklable_arguments() -> None:
    for dataset, options, text in (
        ([lambda: 0], {}, "the data set list cannot be sent .* at the top level of a module"),
        (Pictures(3), {"collate_fn": lambda batch: batch}, "collate_fn .*<lambda> cannot be sent"),
        (Pictures(3), {"worker_init_fn": lambda number: None}, "worker_init_fn .*<lambda> cannot be sent"),
    ):
        with pytest.raises(TypeError, match=text):
            iter(DataLoader(dataset, num_workers=2, **options))
    with pytest.raises(OSError, match="the file is gone"):
        list(DataLoader(Unreadable(), num_workers=2))
    for more in ({}, THREADS):
        with pytest.raises(LookupError, match="is not wanted"):
            list(DataLoader(Pictures(3), num_workers=2, worker_init_fn=refuses, **more))


@pytest.mark.usefixtures("nothing_left")
def test_a_pass_can_be_abandoned() -> None:
    for more in ({}, THREADS):
        for batch in DataLoader(Pictures(50), 2, num_workers=2, **more):
            assert batch[1].tolist() == [0, 1]
            break
        assert next(iter(DataLoader(Pictures(50), 2, num_workers=2, **more)))[1].tolist() == [0, 1]
        iter(DataLoader(Pictures(50), 2, num_workers=2, **more))  # no request ever comes


@pytest.mark.parametrize("more", [{}, THREADS])
def test_persistent_workers(more: dict[str, Any]) -> None:
    loader = DataLoader(Process(12), 2, num_workers=2, persistent_workers=True, **more)
    expected = [[2 * start, 2 * start + 1] for start in range(6)]
    processes = set()
    for stop in (6, 1, 6, 3, 6):
        found = list(itertools.islice(loader, stop))
        assert [batch[0].tolist() for batch in found] == expected[:stop]
        processes |= {int(process) for batch in found for process in batch[1]}
    assert len(processes) == (1 if more else 2)
    first = iter(loader)
    next(first)
    assert len(list(loader)) == 6
    with pytest.raises(RuntimeError, match="iterator is invalid because a newer one"):
        next(first)
    assert len(list(loader)) == 6


@pytest.mark.usefixtures("nothing_left")
def test_batches_keep_their_segments() -> None:
    held = list(DataLoader(Pictures(300), 2, num_workers=2))
    for images, numbers, *_ in held:
        assert (images.numpy() == np.array(numbers.tolist()).reshape(2, 1, 1, 1)).all()
        images += 1  # they are the caller's
    parts = [images[1, 0] for images, *_ in held]
    del held
    for index, part in enumerate(parts):
        assert (part.numpy() == 2 * index + 2).all()


def test_segments_are_reused() -> None:
    loader = DataLoader(Pictures(40), 2, num_workers=1, prefetch_factor=2)
    addresses = {batch[0].data_ptr() for batch in loader}
    assert len(addresses) <= 4


@pytest.mark.parametrize("more", [{}, {"num_workers": 2}, {"num_workers": 2, **THREADS}])
def test_set_epoch_skips_batches(more: dict[str, Any]) -> None:
    loader = DataLoader(Pictures(13), 2, shuffle=True, **more)
    loader.set_epoch(3, seed=8)
    whole = [plain(batch) for batch in loader]
    for skip in (0, 1, 6, 7, 9):
        loader.set_epoch(3, seed=8, skip=skip)
        assert [plain(batch) for batch in loader] == whole[skip:]
    loader.set_epoch(4, seed=8)
    assert [plain(batch) for batch in loader] != whole
    stream = DataLoader(Numbers(13), 2, **more)
    whole = [batch.tolist() for batch in stream]
    stream.set_epoch(0, seed=0, skip=3)
    assert [batch.tolist() for batch in stream] == whole[3:]


def test_skipped_batches_are_not_read() -> None:
    loader = DataLoader(Pictures(6, {0: ValueError("read"), 3: ValueError("read")}), 2)
    loader.set_epoch(0, seed=0, skip=2)
    assert [batch[1].tolist() for batch in loader] == [[4, 5]]


@pytest.mark.parametrize("more", [{}, {"num_workers": 1, "persistent_workers": True}, {"num_workers": 1, **THREADS}])
def test_set_epoch_reaches_data_sets(more: dict[str, Any]) -> None:
    loader = DataLoader(engine.data.Subset(Told(), [0, 1]), 2, **more)
    for epoch in (2, 5):
        loader.set_epoch(epoch, seed=7)
        assert [batch.tolist() for batch in loader] == [[700 + epoch] * 2]


SAMPLERS = {
    "default": lambda dataset: {"shuffle": True},
    "own": lambda dataset: {"shuffle": True, "generator": Generator(5)},
    "in order": lambda dataset: {},
    "subset": lambda dataset: {"sampler": SubsetRandomSampler(range(20), generator=Generator(5))},
    "weighted": lambda dataset: {"sampler": WeightedRandomSampler([1.0] * 20, 20)},
    "batches": lambda dataset: {"batch_sampler": BatchSampler(RandomSampler(dataset, generator=Generator(1)), 3)},
}


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("more", [{}, {"num_workers": 2, **THREADS}, {"num_workers": 2}])
def test_state_dict_resumes_a_pass(name: str, more: dict[str, Any]) -> None:
    def loader() -> DataLoader:
        dataset = Pictures(20)
        options = SAMPLERS[name](dataset)
        return DataLoader(dataset, **({} if "batch_sampler" in options else {"batch_size": 3}), **options, **more)

    engine.manual_seed(2)
    first = loader()
    batches = iter(first)
    for _ in range(4):
        next(batches)
    kept = json.dumps(first.state_dict())
    state = engine.get_rng_state()
    expected = [*map(plain, batches), *map(plain, first)]

    engine.manual_seed(77)
    again = loader()
    again.load_state_dict(json.loads(kept))
    engine.set_rng_state(state)
    assert [*map(plain, again), *map(plain, again)] == expected


def test_state_dict_between_passes() -> None:
    loader = DataLoader(Pictures(5), 2, shuffle=True)
    before = loader.state_dict()
    assert before["batches"] == 0
    expected = [plain(batch) for batch in loader]
    assert loader.state_dict()["batches"] == 0
    loader.load_state_dict(before)
    assert [plain(batch) for batch in loader] == expected
    loader.set_epoch(3, 4, skip=1)
    assert loader.state_dict() == {"epoch": 3, "seed": 4, "batches": 1}


def test_anonymous_shared_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    if os.name != "posix":
        pytest.skip("Windows shared memory is named")
    before = shared_files()
    monkeypatch.delattr(shared_memory.os, "memfd_create", raising=False)
    memory = shared_memory.SharedMemorySegment(5000)
    assert set(shared_files()) <= set(before)
    other = shared_memory.SharedMemorySegment(5000, os.dup(memory.descriptor))
    private = shared_memory.SharedMemorySegment(5000, os.dup(memory.descriptor), private=True)
    memory.memory[:3] = b"abc"
    assert other.memory[:3] == private.memory[:3] == b"abc"
    private.memory[:3] = b"xyz"
    assert other.memory[:3] == b"abc"


@pytest.mark.parametrize("workers", [1, 3])
def test_the_loader_node_gives_the_same_batches(workers: int) -> None:
    arrays = np.arange(40, dtype=np.uint8).reshape(10, 1, 2, 2), np.arange(10)
    splits = engine.data.ArraySplits(arrays, arrays).map(engine.data.transforms.RandomCrop(2, padding=1))

    def passes(**options: Any) -> list[Any]:
        batches = engine.data.Batches(splits, 4, **options)
        found = []
        for epoch in range(2):
            batches.train.set_epoch(epoch, seed=5)
            assert batches.validation is not None
            found += [[plain(batch) for batch in loader] for loader in (batches.train, batches.validation)]
        return found

    assert passes(workers=workers) == passes()


PROGRAM = """
import os, signal, sys
import engine
from engine.data import DataLoader
from tests.engine.data.worker_sets import Pictures

if __name__ == "__main__":
    loader = DataLoader(Pictures(10**6), 2, num_workers=2, multiprocessing_context=sys.argv[1])
    for number, batch in enumerate(loader):
        if number == 3:
            import psutil
            print(*[child.pid for child in psutil.Process().children(recursive=True)], flush=True)
"""


@posix
@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("context", ["forkserver", "spawn"])
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL, signal.SIGTERM])
def test_no_process_outlives_the_program(context: str, end: signal.Signals, tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, encoding="utf-8")
    before = shared_files()
    program = subprocess.Popen(
        [sys.executable, str(path), context],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    try:
        assert program.stdout is not None
        line = program.stdout.readline()
        assert line, program.stderr.read() if program.stderr else ""
        children = [psutil.Process(int(pid)) for pid in line.split() if psutil.pid_exists(int(pid))]
        if end is signal.SIGINT:
            os.killpg(program.pid, end)  # as a terminal does: all processes of the group get the signal
        else:
            program.send_signal(end)
        _, errors = program.communicate(timeout=120)
        assert program.returncode == -end
        if end is signal.SIGINT:
            assert errors.count("KeyboardInterrupt") == 1, errors  # one traceback, of the program itself
        _, alive = psutil.wait_procs(children, timeout=120)
        assert alive == []
        assert set(shared_files()) <= set(before)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)


@pytest.mark.parametrize("context", ["spawn", pytest.param("forkserver", marks=posix)])
def test_programs_that_start_workers_when_imported(tmp_path: Path, context: str) -> None:
    path = tmp_path / "program.py"
    path.write_text(
        "from engine.data import DataLoader\n"
        "from tests.engine.data.worker_sets import Pictures\n"
        "try:\n"
        f"    print(len(list(DataLoader(Pictures(4), num_workers=1, multiprocessing_context={context!r}))))\n"
        "except RuntimeError as error:\n"
        "    if __name__ != '__main__':\n"
        "        raise\n"
        "    print(error)\n",
        encoding="utf-8",
    )
    command = [sys.executable, str(path)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    found = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, check=False)
    assert found.returncode == 0
    assert "before it had imported the program's main module" in found.stdout
    assert "Put the code of the main module under `if __name__ == '__main__':`" in found.stdout
    assert "Put the code of the main module under `if __name__ == '__main__':`" in found.stderr


def test_pad_collate_in_workers() -> None:
    collate = functools.partial(engine.data.pad_collate, padding_value=-1)
    rows = [np.arange(length) for length in (1, 3, 2)]
    expected = [[[0, -1, -1], [0, 1, 2]], [[0, 1]]]
    for more in ({}, {"num_workers": 1}):
        assert [batch.tolist() for batch in DataLoader(rows, 2, collate_fn=collate, **more)] == expected


def test_worker_threads_that_do_not_start_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    start, before = threading.Thread.start, threading.active_count()

    def refuse(thread: threading.Thread) -> None:
        if thread.name.endswith("worker 2"):
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    data = TensorDataset(engine.arange(8))
    with pytest.raises(RuntimeError, match=r"only 2 of 3 worker threads .*can't start new thread.*Use fewer workers\."):
        next(iter(DataLoader(data, num_workers=3, multiprocessing_context="threads")))
    assert threading.active_count() == before
