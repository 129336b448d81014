"""A pass over a data set and a training step during loading, relative to PyTorch's DataLoader: medians of ratios.

python benchmarks/loading.py                     all of them, against PyTorch where it is installed
python benchmarks/loading.py --only images-0     one of them; repeatable
python benchmarks/loading.py --json              one JSON object per line

Sources, all shuffled (JPEG files are decoded, cropped to 224×224 and flipped; others are 28×28, shifted by up to
2 pixels and normalized):

- `images`: arrays in the engine, one sample at a time in PyTorch, as is usual in each library
- `samples`: the same data set, one sample at a time, in both
- `arrays`: whole batches in both

The number is that of workers; starting them is not counted. `step` is a training step of a small CNN while a worker
loads, relative to one without loading. It uses all cores but one. For comparison, `computing` is a step beside a
process that only computes for the same time, and `peer` a step beside PyTorch's worker.

All take turns, one part of a pass each, so that other load slows all of them. Batches that workers prefetched during
other turns are not counted.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import io
import json
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

import engine
from engine import data
from engine.data import transforms

torch: Any = importlib.import_module("torch") if importlib.util.find_spec("torch") else None
TheirDataset: Any = torch.utils.data.Dataset if torch else object
BATCH = 64
AHEAD = 2
"""Batches that each worker prefetches, in both libraries."""
STEP_TURNS = 3
"""Parts of a pass with training steps per part without; steps take longer than loading."""
MEAN, STD = 33.3, 78.6
WORKERS = (0, 1, 2)


@cache
def digits(count: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    generator = np.random.default_rng(0)
    return generator.integers(0, 256, (count, 1, 28, 28), dtype=np.uint8), generator.integers(0, 10, count)


PADDING = np.array([(0, 0), (2, 2), (2, 2)])


class OneByOne(data.Dataset, TheirDataset):
    """Samples computed by NumPy, for both libraries."""

    def __init__(self, count: int) -> None:
        self.images, self.classes = digits(count)

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> Any:
        padded = np.pad(self.images[index], PADDING)
        top, left = np.random.randint(5, size=2)  # noqa: NPY002 - workers seed it
        image = padded[:, top : top + 28, left : left + 28].astype(np.float32)
        image -= MEAN
        image /= STD
        return image, self.classes[index]


class Tensors:
    """Samples or batches computed by PyTorch functions, as in torchvision's transforms."""

    def __init__(self, count: int) -> None:
        images, classes = digits(count)
        self.images, self.classes = torch.from_numpy(images), torch.from_numpy(classes)

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: Any) -> Any:
        images = self.images[index]
        padded = torch.nn.functional.pad(images, (2, 2, 2, 2))
        if images.ndim == 3:
            top, left = torch.randint(5, (2,)).tolist()
            shifted = padded[:, top : top + 28, left : left + 28]
        else:
            top, left = torch.randint(5, (2, len(images)))
            windows = padded[:, 0].unfold(1, 28, 1).unfold(2, 28, 1)
            shifted = windows[torch.arange(len(images)), top, left][:, None]
        return shifted.float().sub_(MEAN).div_(STD), self.classes[index]


class Files:
    """JPEG files as torchvision reads them."""

    def __init__(self, folder: str) -> None:
        self.paths = sorted(Path(folder).rglob("*.jpg"))

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Any:
        pillow = importlib.import_module("PIL.Image")
        with pillow.open(self.paths[index]) as file:
            image = file.convert("RGB")
        top, left = torch.randint(33, (2,)).tolist()
        array = np.array(image.crop((left, top, left + 224, top + 224)))
        tensor = torch.from_numpy(array).permute(2, 0, 1).contiguous().float().div_(255)
        return tensor.flip(-1) if torch.rand(1) < 0.5 else tensor, 0


def ours(dataset: Any, workers: int, context: str = "forkserver") -> data.DataLoader:
    options = {"persistent_workers": True, "multiprocessing_context": context} if workers else {}
    return data.DataLoader(dataset, BATCH, shuffle=True, num_workers=workers, **options)


def theirs(dataset: Any, workers: int, *, batched: bool = False) -> Any:
    loading = torch.utils.data
    options = {"persistent_workers": True, "multiprocessing_context": "forkserver"} if workers else {}
    if batched:
        order = loading.BatchSampler(loading.RandomSampler(dataset), BATCH, drop_last=False)
        return loading.DataLoader(dataset, batch_size=None, sampler=order, num_workers=workers, **options)
    return loading.DataLoader(dataset, BATCH, shuffle=True, num_workers=workers, **options)


def arrays(count: int) -> Any:
    """The engine's data sets: samples in arrays, transforms of whole batches."""
    splits = data.ArraySplits(digits(count)).map(transforms.RandomCrop(28, padding=2))
    return splits.map(transforms.Normalize(MEAN, STD)).train


@cache
def photographs(count: int) -> str:
    """A temporary folder of 256×256 JPEG files."""
    pillow = importlib.import_module("PIL.Image")
    folder = tempfile.TemporaryDirectory()
    _temporary_folders.append(folder)
    generator = np.random.default_rng(0)
    encoded: list[bytes] = []
    for _ in range(min(count, 250)):
        image = pillow.fromarray(generator.integers(0, 256, (24, 24, 3), dtype=np.uint8))
        file = io.BytesIO()
        image.resize((256, 256), pillow.Resampling.BICUBIC).save(file, "jpeg", quality=85)
        encoded.append(file.getvalue())
    for number in range(count):
        path = Path(folder.name) / f"class {number % 2}" / f"{number:05}.jpg"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(encoded[number % len(encoded)])
    return folder.name


_temporary_folders: list[Any] = []


def files(count: int) -> Any:
    splits = data.ImageFolder(photographs(count), validation=0.0).map(transforms.RandomCrop(224))
    return splits.map(transforms.RandomHorizontalFlip()).map(transforms.ToFloat()).train


def loaders(name: str, options: argparse.Namespace) -> dict[str, Any]:
    kind, _, number = name.partition("-")
    workers = int(number)
    if kind == "jpeg":
        engine_data, torch_data = files(options.files), lambda: Files(photographs(options.files))
    elif kind == "samples":
        engine_data, torch_data = OneByOne(options.samples), lambda: OneByOne(options.samples)
    else:
        count = options.images if kind == "images" else options.images // 2
        engine_data, torch_data = arrays(count), lambda: Tensors(count)
    by_name = {"engine": ours(engine_data, workers)}
    if workers:
        by_name["threads"] = ours(engine_data, workers, "threads")
    if torch:
        by_name["torch"] = theirs(torch_data(), workers, batched=kind == "arrays")
    return by_name


class Pass:
    """A pass that runs in parts.

    Args:
        batches: a loader
        workers: number of workers
        turns: parts
        use: called with each batch
    """

    def __init__(self, batches: Any, workers: int, turns: int, use: Callable[[Any], Any] | None = None) -> None:
        self._batches = iter(batches)
        self._ahead, self._use = AHEAD * workers, use
        self._count = len(batches) // turns - self._ahead
        self._take(1)  # starts the workers
        self._count -= 1

    def turn(self) -> tuple[float, int]:
        """Return the seconds and the number of batches of a part."""
        self._take(self._ahead)  # prefetched during other turns
        start = time.perf_counter()
        self._take(self._count)
        return time.perf_counter() - start, self._count

    def end(self) -> None:
        self._take(None)

    def _take(self, count: int | None) -> None:
        for batch in islice(self._batches, count):
            if self._use is not None:
                self._use(batch)


class RepeatedBatch:
    """Repeats one batch as often as the loader yields batches."""

    def __init__(self, loader: data.DataLoader) -> None:
        self.batch = next(iter(loader))
        self.times = len(loader)

    def __len__(self) -> int:
        return self.times

    def __iter__(self) -> Iterator[Any]:
        return (self.batch for _ in range(self.times))


class BusyProcess(RepeatedBatch):
    """A `RepeatedBatch` while another process computes as long per batch as a worker."""

    def __init__(self, loader: data.DataLoader) -> None:
        super().__init__(loader)
        start = time.process_time()
        batches = sum(1 for _ in loader)
        seconds = (time.process_time() - start) / batches
        context = multiprocessing.get_context("forkserver")
        self.connection, other = context.Pipe()
        context.Process(target=compute_batches, args=(other, seconds), daemon=True).start()

    def __iter__(self) -> Iterator[Any]:
        for _ in range(AHEAD):
            self.connection.send(None)
        for batch in super().__iter__():
            self.connection.recv()
            self.connection.send(None)
            yield batch


def compute_batches(connection: Any, seconds: float) -> None:
    numbers = np.ones(50_000, np.float32)
    with contextlib.suppress(EOFError, OSError):  # the parent has closed its end
        while True:
            connection.recv()
            end = time.process_time() + seconds
            while time.process_time() < end:
                np.sqrt(numbers, numbers)
            connection.send(None)


class EngineBatches:
    """Batches of a PyTorch loader as engine tensors."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def __len__(self) -> int:
        return len(self.loader)

    def __iter__(self) -> Iterator[Any]:
        return ([engine.from_numpy(part.numpy()) for part in batch] for batch in self.loader)


def training() -> Callable[[Any], Any]:
    """A compiled step of a small CNN."""
    nn = engine.nn
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(800, 10),
    )  # fmt: skip
    optimizer = engine.optim.Adam(model.parameters(), lr=1e-3)
    loss_function = nn.CrossEntropyLoss()

    @engine.compile
    def step(batch: Any) -> Any:
        images, classes = batch
        optimizer.zero_grad()
        loss = loss_function(model(images), classes)
        loss.backward()
        optimizer.step()
        return loss

    return lambda batch: step(batch).item()


def steps(options: argparse.Namespace) -> dict[str, Pass]:
    engine.set_num_threads(max((os.cpu_count() or 1) - 1, 1))
    dataset, step = arrays(options.images // 4), training()
    loaders: dict[str, tuple[Any, int]] = {
        "alone": (RepeatedBatch(ours(dataset, 0)), 0),
        "here": (ours(dataset, 0), 0),
        "thread": (ours(dataset, 1, "threads"), 1),
        "process": (ours(dataset, 1), 1),
        "computing": (BusyProcess(ours(dataset, 0)), 1),
    }
    if torch:
        loaders["peer"] = EngineBatches(theirs(Tensors(options.images // 4), 1, batched=True)), 1
    return {
        name: Pass(loader, workers, STEP_TURNS * options.turns, step) for name, (loader, workers) in loaders.items()
    }


def measured(passes: dict[str, Pass], turns: int) -> dict[str, list[float]]:
    """Milliseconds per batch in each turn. The order alternates."""
    times: dict[str, list[float]] = {name: [] for name in passes}
    order = list(passes)
    for _ in range(turns):
        order.reverse()
        for name in order:
            seconds, batches = passes[name].turn()
            times[name].append(seconds * 1e3 / batches)
    for one_pass in passes.values():
        one_pass.end()
    return times


def ratio(times: dict[str, list[float]], name: str, other: str) -> float | None:
    """Median ratio of two interleaved measurements."""
    if other not in times:
        return None
    return statistics.median(first / second for first, second in zip(times[name], times[other], strict=True))


def rows(name: str, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    if name == "step":
        times = measured(steps(options), STEP_TURNS * options.turns)
        yield {"benchmark": "step beside a thread", "ratio": ratio(times, "thread", "alone")}
        factor, row = 1.0, {"benchmark": "step beside a process", "ratio": ratio(times, "process", "alone")}
    else:
        workers = int(name.rpartition("-")[2])
        by_name = loaders(name, options).items()
        times = measured({key: Pass(loader, workers, options.turns) for key, loader in by_name}, options.turns)
        factor, row = 1000 / BATCH, {"benchmark": name, "ratio": ratio(times, "engine", "torch")}
    yield row | {f"{key}_ms": round(factor * statistics.median(values), 4) for key, values in times.items()}


def names() -> list[str]:
    kinds = ("images", "arrays", "samples", "jpeg")
    return [f"{kind}-{workers}" for kind in kinds for workers in WORKERS] + ["step"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=names(), help="run this benchmark; repeatable")
    parser.add_argument("--turns", type=int, default=6, help="parts of a pass")
    parser.add_argument("--images", type=int, default=60_000, help="images as arrays")
    parser.add_argument("--samples", type=int, default=6_000, help="images one by one")
    parser.add_argument("--files", type=int, default=5_000, help="JPEG files")
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    options = parser.parse_args()
    for name in options.only or names():
        for row in rows(name, options):
            if options.json:
                print(json.dumps(row), flush=True)
                continue
            ratio = row["ratio"]
            label = f"{row.pop('benchmark'):<22} {'' if ratio is None else f'{ratio:.2f}':5}   "
            figures = ", ".join(f"{key.removesuffix('_ms')} {row[key]:.3g}" for key in row if key != "ratio")
            print(f"{label}{figures} ms {'a step' if name == 'step' else 'for 1000 samples'}", flush=True)


if __name__ == "__main__":
    main()
