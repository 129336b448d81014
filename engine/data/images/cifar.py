"""CIFAR-10 and CIFAR-100 in their binary version.

Source: A. Krizhevsky, "Learning Multiple Layers of Features from Tiny Images", 2009; the layout is that of the data
set's page: for each image one or two bytes of labels, then 32×32 bytes of red, of green and of blue.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

import numpy as np

from engine.data.file_access import ReadErrorContext, required_path
from engine.data.memory_map import open_memory_map
from engine.data.samples import ArraySamples, JoinedSamples, Samples
from engine.data.splits import Splits
from engine.dtypes import int64, uint8
from engine.errors import DataError
from engine.registry import DATASETS, PathTo
from engine.shape import Spec
from engine.system.files import read_regular

_LONGEST_NAMES = 2**16
"""Maximum size of a class name file in bytes."""
_PARTS = {
    10: (tuple(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin"),
    100: (("train.bin",), "test.bin"),
}


@DATASETS.register(
    category="Images", title="CIFAR images", outputs=("samples",), tags=("CIFAR-10", "CIFAR-100", "binary", "colour")
)
class CIFAR(Splits):
    """CIFAR-10 or CIFAR-100, unpacked binary version: 60,000 color images of 32×32 pixels.

    The files are memory-mapped. The test images are the validation data.

    Args:
        folder: folder with data_batch_1.bin to data_batch_5.bin (CIFAR-10) or train.bin and test.bin (CIFAR-100)
        labels: for CIFAR-100, use the 100 classes or the 20 groups of classes as targets
    """

    def __init__(
        self, folder: Annotated[str, PathTo("folder")], labels: Literal["classes", "groups"] = "classes"
    ) -> None:
        self._folder = required_path("CIFAR", "folder", folder, "folder")
        kind = next((kind for kind, (parts, _) in _PARTS.items() if (self._folder / parts[0]).is_file()), None)
        if kind is None:
            raise DataError(
                f"{folder}: has neither data_batch_1.bin (CIFAR-10) nor train.bin (CIFAR-100). "
                "Choose the folder of the unpacked binary version."
            )
        self._kind = 20 if kind == 100 and labels == "groups" else kind
        heads = ["label"] if kind == 10 else ["group", "label"]
        self._record = np.dtype([*((head, "u1") for head in heads), ("image", "u1", (3, 32, 32))])
        parts, test = _PARTS[kind]
        # A copy may have fewer than the five training files.
        self._train = [self._folder / part for part in parts if (self._folder / part).is_file()]
        self._test = [self._folder / test] if (self._folder / test).is_file() else []
        for path in self.files:
            size = path.stat().st_size
            if not size or size % self._record.itemsize:
                raise DataError(
                    f"{path}: has {size} bytes, which is not a multiple of the {self._record.itemsize} bytes of a "
                    f"CIFAR-{kind} record. Download the file again."
                )

    @property
    def input(self) -> Spec:
        return Spec((3, 32, 32), uint8)

    @property
    def target(self) -> Spec:
        return Spec((), int64)

    @property
    def classes(self) -> int:
        return self._kind

    @cached_property
    def class_names(self) -> tuple[str, ...]:  # pyright: ignore[reportIncompatibleMethodOverride] - read once
        name = {10: "batches.meta.txt", 20: "coarse_label_names.txt", 100: "fine_label_names.txt"}[self._kind]
        path = self._folder / name
        if not path.is_file():
            return ()
        with ReadErrorContext(path):
            names = tuple(read_regular(path, _LONGEST_NAMES).decode("utf-8", "replace").split())
        return names if len(names) == self._kind else ()

    @property
    def train(self) -> Samples:
        return self._samples(self._train)

    @property
    def validation(self) -> Samples | None:
        return self._samples(self._test) if self._test else None

    @property
    def files(self) -> tuple[Path, ...]:
        return (*self._train, *self._test)

    def _samples(self, paths: list[Path]) -> Samples:
        parts = [self._part(path) for path in paths]
        return parts[0] if len(parts) == 1 else JoinedSamples(parts)

    def _part(self, path: Path) -> ArraySamples:
        records = open_memory_map(path, self._record)
        targets = records["group" if self._kind == 20 else "label"].astype(np.int64)
        if targets.max() >= self._kind:
            raise DataError(
                f"{path}: contains label {targets.max()}, but classes are 0 to {self._kind - 1}. Download it again."
            )
        return ArraySamples(records["image"], targets)
