"""A pass over a data set here and with PyTorch's DataLoader, and a training step beside loading, as ratios of medians.

python benchmarks/loading.py                     all of them, against PyTorch where it is installed
python benchmarks/loading.py --only images-0     one of them; may be repeated
python benchmarks/loading.py --json              one object a line

Images of 28×28 are shuffled, shifted by up to 2 pixels and normalised. `images` takes them as each library's users do:
here as arrays, in PyTorch one by one. In `samples` both get the same data set that makes one sample after the other,
and in `arrays` PyTorch is given whole batches as well. JPEG files are decoded, cropped to 224×224 and flipped. The
number is that of the workers; both libraries start them by the fork server and keep them, so that their start is not
counted. `step` is a training step of a small CNN while a worker loads, beside one without loading; it computes on all
cores but one, which is left to the worker.

Passes of both libraries take turns, so that whatever else the machine does slows both.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

import engine
from engine import data
from engine.data import transforms

torch: Any = importlib.import_module("torch") if importlib.util.find_spec("torch") else None
BATCH = 64
MEAN, STD = 33.3, 78.6
WORKERS = (0, 1, 2)


@cache
def digits(count: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    draw = np.random.default_rng(0)
    return draw.integers(0, 256, (count, 1, 28, 28), dtype=np.uint8), draw.integers(0, 10, count)


class OneByOne(data.Dataset, torch.utils.data.Dataset if torch else object):
    """Samples made by NumPy, for both libraries."""

    def __init__(self, count: int) -> None:
        self.images, self.classes = digits(count)

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> Any:
        padded = np.pad(self.images[index], ((0, 0), (2, 2), (2, 2)))
        top, left = np.random.randint(5, size=2)  # noqa: NPY002 - workers seed it
        image = padded[:, top : top + 28, left : left + 28].astype(np.float32)
        image -= MEAN
        image /= STD
        return image, self.classes[index]


class Tensors:
    """Samples made by PyTorch's functions, as torchvision's transforms do; or whole batches of them."""

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
    more = {"persistent_workers": True, "multiprocessing_context": context} if workers else {}
    return data.DataLoader(dataset, BATCH, shuffle=True, num_workers=workers, **more)


def theirs(dataset: Any, workers: int, *, whole: bool = False) -> Any:
    loading = torch.utils.data
    more = {"persistent_workers": True, "multiprocessing_context": "forkserver"} if workers else {}
    if whole:
        order = loading.BatchSampler(loading.RandomSampler(dataset), BATCH, drop_last=False)
        return loading.DataLoader(dataset, batch_size=None, sampler=order, num_workers=workers, **more)
    return loading.DataLoader(dataset, BATCH, shuffle=True, num_workers=workers, **more)


def arrays(count: int) -> Any:
    """The engine's own way: samples in arrays and transforms of whole batches."""
    splits = data.ArraySplits(digits(count)).map(transforms.RandomCrop(28, padding=2))
    return splits.map(transforms.Normalize(MEAN, STD)).train


@cache
def photographs(count: int) -> str:
    """A folder of JPEG files of 256×256, which is removed at the end."""
    pillow = importlib.import_module("PIL.Image")
    folder = tempfile.TemporaryDirectory()
    photographs_kept.append(folder)
    draw = np.random.default_rng(0)
    for number in range(count):
        rough = pillow.fromarray(draw.integers(0, 256, (24, 24, 3), dtype=np.uint8))
        path = Path(folder.name) / f"class {number % 2}" / f"{number:05}.jpg"
        path.parent.mkdir(exist_ok=True)
        rough.resize((256, 256), pillow.Resampling.BICUBIC).save(path, quality=85)
    return folder.name


photographs_kept: list[Any] = []


def files(count: int) -> Any:
    splits = data.ImageFolder(photographs(count), validation=0.0).map(transforms.RandomCrop(224))
    return splits.map(transforms.RandomHorizontalFlip()).map(transforms.ToFloat()).train


def loaders(name: str, options: argparse.Namespace) -> dict[str, Any]:
    kind, _, number = name.partition("-")
    workers = int(number)
    if kind == "jpeg":
        mine, others = files(options.files), lambda: Files(photographs(options.files))
    elif kind == "samples":
        mine, others = OneByOne(options.samples), lambda: OneByOne(options.samples)
    else:
        mine, others = arrays(options.images), lambda: Tensors(options.images)
    found = {"engine": ours(mine, workers)}
    if workers:
        found["threads"] = ours(mine, workers, "threads")
    if torch:
        found["torch"] = theirs(others(), workers, whole=kind == "arrays")
    return found


def drained(batches: Iterable[Any]) -> Callable[[], float]:
    """Takes the batches of a pass, and returns milliseconds for a thousand samples."""

    def run() -> float:
        start = time.perf_counter()
        samples = sum(len(targets) for _, targets in batches)
        return (time.perf_counter() - start) * 1e6 / samples

    return run


def stepped(loader: Iterable[Any], step: Callable[[Any], Any]) -> Callable[[], float]:
    """Trains for a pass, and returns milliseconds a step."""

    def run() -> float:
        start = time.perf_counter()
        steps = sum(1 for batch in loader if step(batch) is not None)
        return (time.perf_counter() - start) * 1e3 / steps

    return run


class Again:
    """One batch, over and over, as often as a loader gives one."""

    def __init__(self, loader: data.DataLoader) -> None:
        self.batch = next(iter(loader))
        self.times = len(loader)

    def __iter__(self) -> Iterator[Any]:
        return (self.batch for _ in range(self.times))


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


def steps(options: argparse.Namespace) -> dict[str, Callable[[], float]]:
    engine.set_num_threads(max((os.cpu_count() or 1) - 1, 1))
    dataset, step = arrays(options.images // 10), training()
    found: dict[str, Any] = {"alone": Again(ours(dataset, 0)), "here": ours(dataset, 0)}
    found |= {"thread": ours(dataset, 1, "threads"), "process": ours(dataset, 1)}
    return {name: stepped(loader, step) for name, loader in found.items()}


def measured(turns: dict[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """Medians. All take turns, and who goes first changes."""
    taken: dict[str, list[float]] = {name: [] for name in turns}
    order = list(turns)
    for number in range(rounds + 1):
        order.reverse()
        for name in order:
            milliseconds = turns[name]()
            if number:  # the first time everything starts
                taken[name].append(milliseconds)
    return {name: statistics.median(values) for name, values in taken.items()}


def names() -> list[str]:
    kinds = ("images", "arrays", "samples", "jpeg")
    return [f"{kind}-{workers}" for kind in kinds for workers in WORKERS] + ["step"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=names(), help="run this one; may be repeated")
    parser.add_argument("--rounds", type=int, default=7, help="passes of each loader")
    parser.add_argument("--images", type=int, default=60_000, help="images as arrays")
    parser.add_argument("--samples", type=int, default=10_000, help="images one by one")
    parser.add_argument("--files", type=int, default=640, help="JPEG files; 5000 take an hour")
    parser.add_argument("--json", action="store_true", help="one object a line")
    options = parser.parse_args()
    for name in options.only or names():
        if name == "step":
            medians = measured(steps(options), options.rounds)
            ratio, unit = medians["thread"] / medians["alone"], "ms a step"
        else:
            turns = {library: drained(loader) for library, loader in loaders(name, options).items()}
            medians = measured(turns, options.rounds)
            ratio, unit = medians["engine"] / medians["torch"] if torch else None, "ms for 1000 samples"
        if options.json:
            figures = {f"{key}_ms": round(value, 4) for key, value in medians.items()}
            print(json.dumps({"benchmark": name, "ratio": ratio} | figures), flush=True)
        else:
            figures = ", ".join(f"{key} {value:.3g}" for key, value in medians.items())
            print(f"{name:<10} {f'{ratio:5.2f}' if ratio else ''}   {figures}   {unit}", flush=True)


if __name__ == "__main__":
    main()
