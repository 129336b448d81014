"""The samples of a data source as arrays in an exported package."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.data.loader import DataLoader
from engine.data.samples import MappedSamples, Samples
from engine.data.text_file import WindowSamples
from engine.errors import DataError
from engine.system.assets import asset
from studio.export.data_plan import LoaderPlan, TransformStep
from studio.export.export_error import ExportError
from studio.export.shipped_source import shipped

MAX_BYTES = 2**30
"""Largest size of the arrays of one source."""
LICENSES = {"Digits": "digits", "Penguins": "penguins", "Shakespeare": "shakespeare"}
"""Folder of the license of bundled data, by class."""
READABLE_KINDS = "biuf"
"""Kinds of dtypes of arrays that PyTorch has."""


@dataclass(frozen=True, slots=True)
class StoredSamples:
    """The samples of one loader."""

    plan: LoaderPlan
    stored: tuple[TransformStep, ...]
    """Transforms that are applied in the file."""
    applied: tuple[TransformStep, ...]
    """Transforms that the package applies."""
    arrays: Mapping[str, NDArray[Any]]
    """Inputs and targets of training and validation samples, or their tokens."""
    window: tuple[int, int] | None
    """Length and stride of windows of tokens; None for other samples."""

    @property
    def has_validation(self) -> bool:
        return any(name.startswith("validation") for name in self.arrays)

    @property
    def file(self) -> str:
        return f"data/{self.plan.source}.npz"

    def encoded(self) -> bytes:
        written = io.BytesIO()
        np.savez_compressed(written, **dict(self.arrays))  # pyright: ignore[reportArgumentType]
        return written.getvalue()

    def license(self) -> bytes | None:
        """The license of bundled data."""
        folder = LICENSES.get(self.plan.kind)
        return None if folder is None else asset(f"data/{folder}/LICENSE.md").read_bytes()


def stored_samples(plan: LoaderPlan, train: DataLoader, validation: DataLoader | None) -> StoredSamples:
    """Read the samples of a loader.

    Transforms without random numbers that a package has no code for are applied to the stored samples.

    Raises ExportError.
    """
    if train.dataset.stream is not None:
        raise _unsupported(plan.source, "reads a stream, whose number of samples is unknown", "Turn stream off")
    stored, applied = _divided(plan)
    parts = {"train": train.dataset, "validation": None if validation is None else validation.dataset}
    found = {name: _source(samples, len(applied)) for name, samples in parts.items() if samples is not None}
    windows = [each for each in found.values() if isinstance(each, WindowSamples)]
    if windows and len(windows) == len(found):
        length, stride = windows[0].window
        tokens = {f"{name}_tokens": _tokens(each) for name, each in found.items() if isinstance(each, WindowSamples)}
        return StoredSamples(plan, stored, applied, tokens, (length, stride))
    arrays: dict[str, NDArray[Any]] = {}
    for name, samples in found.items():
        arrays[f"{name}_inputs"], arrays[f"{name}_targets"] = _arrays(samples, plan.source)
    return StoredSamples(plan, stored, applied, arrays, None)


def _divided(plan: LoaderPlan) -> tuple[tuple[TransformStep, ...], tuple[TransformStep, ...]]:
    """The transforms to apply to the stored samples, and those to write as code."""
    known = shipped("pytorch/samples.py").definitions
    missing = [index for index, step in enumerate(plan.steps) if step.kind not in known]
    cut = missing[-1] + 1 if missing else 0
    for step in (*plan.before, *plan.steps[:cut]):
        if not step.is_random:
            continue
        if step.kind not in known:
            raise _unsupported(step.node, f"{step.kind} draws random numbers that a package cannot repeat", "Mute it")
        after = plan.steps[cut - 1].node if cut else "the split"
        raise _unsupported(step.node, f"it varies samples in front of {after}, which is stored", "Move it behind that")
    return plan.steps[:cut], plan.steps[cut:]


def _unsupported(node: str, reason: str, remedy: str) -> ExportError:
    return ExportError(f"{node}: {reason}. {remedy}, or export with --to engine.", node)


def _source(samples: Samples, transforms: int) -> Samples:
    """The samples in front of the last transforms, without augmentations."""
    for _ in range(transforms):
        assert isinstance(samples, MappedSamples)
        [samples] = samples.sources
    return samples.with_augmentations(False)


def _arrays(samples: Samples, node: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Inputs and targets of all samples. Raises ExportError if they have different sizes or need too much memory."""
    count = len(samples)
    first = samples.arrays(np.arange(min(count, 1)))
    size = sum(np.asarray(part).nbytes for part in first) * count
    if size > MAX_BYTES:
        raise _unsupported(
            node, f"its samples have {size / 2**30:.1f} GiB, above the limit of 1 GiB", "Lower its number of samples"
        )
    try:
        inputs, targets = samples.arrays(np.arange(count))
    except DataError as error:
        raise ExportError(str(error), node) from error
    if not isinstance(inputs, np.ndarray) or not isinstance(targets, np.ndarray):
        raise _unsupported(node, "its samples differ in size", "Add Resize or CropOrPad as its first transform")
    for part in (inputs, targets):
        if part.dtype.kind not in READABLE_KINDS:
            raise _unsupported(node, f"its samples are {part.dtype}, which PyTorch has no dtype for", "Encode them")
    return np.ascontiguousarray(inputs), np.ascontiguousarray(targets)


def _tokens(samples: WindowSamples) -> NDArray[Any]:
    """The tokens of a text in the smallest dtype."""
    tokens = samples.tokens
    smallest = next(kind for kind in (np.uint8, np.uint16, np.int64) if tokens.max() <= np.iinfo(kind).max)
    return tokens.astype(smallest)


__all__ = ["LICENSES", "StoredSamples", "stored_samples"]
