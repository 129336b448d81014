"""Load trained weights into a project, and predict on new samples."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from engine import Tensor, fit, no_grad
from engine.data.batches import Batches, JointBatches
from engine.data.images.image_samples import ImageSamples
from engine.data.numpy_files import StoredArray, read_array_headers
from engine.data.sample_stream import first_samples
from engine.data.samples import ArraySamples, MappedSamples, Samples
from engine.data.splits import Splits
from engine.errors import ShapeError
from engine.nn.utils import carried_states, reset_states
from engine.shape import format_shape
from studio.document.document_errors import FileError
from studio.document.model import Document
from studio.lowering.program import lower
from studio.lowering.report import Report
from studio.nodes.catalogue import Catalogue
from studio.nodes.types import Role
from studio.training.weights.weight_import import chosen_weights, load_initial_weights, load_into

ARRAY_SUFFIXES = (".npy", ".npz")
BATCH_SIZE = 256
"""Samples per batch."""


def task_with_weights(report: Report, weights: Path, *, name: str, device: str, base: Path | None = None) -> fit.Task:
    """The task of a checked document, set up, with the weights of a run, a checkpoint or a file.

    Args:
        base: folder of the project file; if `weights` is the file of the project, its rules apply

    Raises LoweringError for a report with errors, and FileError for weights of another graph.
    """
    task = lower(report, name).build(device=device, seed=report.document.training.seed)
    task.setup()
    load_task_weights(task, report.document, base, weights)
    return task


def load_task_weights(task: fit.Task, document: Document, base: Path | None, weights: Path | None) -> None:
    """Load the weights of a run, a checkpoint or a file; without one, those that trainings of the document start from.

    Raises FileError for weights of another graph.
    """
    chosen = chosen_weights(document, base, weights)
    if chosen is None:
        return
    if weights is None:
        load_initial_weights(chosen, task)
        return
    found = load_into(task.model, chosen).match
    if found.missing or found.reshaped:
        raise FileError(str(weights), "", f"contains weights of another graph: {found}", "Choose other weights.")


def replace_source_path(document: Document, catalogue: Catalogue, path: Path) -> Document:
    """Replace the path of the data source by another file or folder of the same kind. Raises FileError."""
    sources = [name for name, node in document.nodes.items() if _role(catalogue, node.type) is Role.SOURCE]
    found: list[tuple[str, str]] = []
    for name in sources:
        declared = catalogue[document.nodes[name].type].params
        found += [(name, param.name) for param in declared if param.kind == "path"][:1]
    if len(found) != 1:
        problem = "cannot be used: the project does not have exactly one data source with a path to replace"
        raise FileError(str(path), "", problem, f"Pass samples as an array: {' or '.join(ARRAY_SUFFIXES)}.")
    [(name, param)] = found
    node = document.nodes[name]
    params: dict[str, Any] = {**node.params, param: str(path.expanduser().absolute())}
    if catalogue[node.type].param("validation") is not None:
        params["validation"] = 0.0  # all samples are new
    if catalogue[node.type].param("stream") is not None:
        params["stream"] = False  # predictions carry the names of their samples
    changed = replace(node, params=params)
    return replace(document, nodes={**document.nodes, name: changed})


def all_splits(task: fit.Task) -> tuple[Splits, ...]:
    """The data splits of each loader of a task, before batching."""
    batches = task.setup()
    if isinstance(batches, JointBatches):
        return tuple(each.splits for each in batches.loaders)
    assert isinstance(batches, Batches)
    return (batches.splits,)


def splits_of(task: fit.Task) -> Splits:
    """The data splits of the first loader of a task, before batching."""
    return all_splits(task)[0]


class JointSamples:
    """Samples of several sources side by side; shorter sources start again."""

    def __init__(self, sources: tuple[Samples, ...]) -> None:
        self.sources = sources

    def __len__(self) -> int:
        return max(map(len, self.sources))

    def inputs(self, rows: NDArray[np.int64]) -> list[Tensor]:
        """The inputs of some rows, one tensor for each source."""
        return [source.batch(rows % len(source))[0] for source in self.sources]


def prediction_samples(task: fit.Task, arrays: Path | None = None) -> JointSamples:
    """All samples of a task's data sources in file order, or those of an array, with the validation transforms.

    Raises FileError if the array does not match the source's shape or dtype, or if there are several sources.
    """
    found = all_splits(task)
    if arrays is not None and len(found) > 1:
        problem = f"contains one array, but the network reads {len(found)} data sources"
        raise FileError(str(arrays), "", problem, "Replace the files of the sources with --set.")
    return JointSamples(tuple(_all_samples(splits.train, arrays) for splits in found))


def _all_samples(samples: Samples, arrays: Path | None) -> Samples:
    """The samples at the source of others, or those of an array, with the transforms of these."""
    transforms: list[MappedSamples] = []
    while samples.sources:
        if isinstance(samples, MappedSamples) and samples.on == "inputs":
            transforms.append(samples)
        samples = samples.sources[0]
    if arrays is not None:
        inputs = _read_matching(arrays, stored_array(arrays), samples)
        samples = ArraySamples(inputs, np.zeros(len(inputs), np.int64))
    for each in reversed(transforms):
        samples = MappedSamples(samples, each.transform)
    return samples.with_augmentations(False)


def sample_names(samples: JointSamples, first: int) -> list[str]:
    """Sample names: file names for images of a single source, else numbers from `first`."""
    source = samples.sources[0] if len(samples.sources) == 1 else None
    while isinstance(source, MappedSamples):
        [source] = source.sources
    if isinstance(source, ImageSamples):
        return [source.source(row)[1] for row in range(len(source))]
    return [str(first + row) for row in range(len(samples))]


def prediction_batch_size(task: fit.Task) -> int:
    """Samples per batch: one if the network carries a state, which continues from sample to sample."""
    return 1 if any(carried_states(task.model)) else BATCH_SIZE


def predict_batches(task: fit.Task, samples: JointSamples) -> Iterator[NDArray[Any]]:
    """Yield the network's outputs batch by batch. Raises ShapeError if the network needs other inputs.

    A network that carries a state reads one sample after the other, from a state of zero.
    """
    task.model.eval()
    reset_states(task.model)
    size = prediction_batch_size(task)
    for start in range(0, len(samples), size):
        inputs = samples.inputs(np.arange(start, min(start + size, len(samples))))
        with no_grad():
            try:
                found = task.model(*task.to_device(inputs))
            except TypeError as error:
                raise ShapeError(
                    f"the network does not take one input of each data source, which prediction requires: {error}"
                ) from None
        first = found[0] if isinstance(found, tuple) else found
        yield first.numpy(force=True)


def stored_array(path: Path) -> StoredArray:
    """The array in a .npy file; in a .npz file the only one, or the one called input or x. Reads headers only.

    Raises DataError for a damaged file, and FileError if there is no such array.
    """
    arrays = read_array_headers(path)
    names = [name for name in ("", "input", "x") if name in arrays] or (list(arrays) if len(arrays) == 1 else [])
    if not names:
        problem = f"contains several arrays ({', '.join(arrays)})" if arrays else "contains no array"
        raise FileError(str(path), "", problem, "Name the array of samples `input` or `x`.")
    return arrays[names[0]]


def _read_matching(path: Path, inputs: StoredArray, like: Samples) -> NDArray[Any]:
    """Read an array that has the shape and dtype of the source's samples, else raise FileError."""
    if not inputs.shape or not inputs.shape[0]:
        problem = "has no rows" if inputs.shape else "contains a single number"
        raise FileError(str(path), "", problem, "Pass an array of shape N×…, with one sample per row.")
    first: Tensor = first_samples(like, 1).batch(np.array([0]))[0]
    if inputs.shape[1:] != tuple(first.shape[1:]):
        shape, expected = format_shape(inputs.shape[1:]), format_shape(first.shape[1:])
        raise FileError(
            str(path),
            "",
            f"contains samples of shape {shape}, but the network was trained on {expected}",
            "Reshape them.",
        )
    dtype = first.numpy().dtype
    if not np.can_cast(inputs.dtype, dtype, "same_kind"):
        problem = f"has dtype {inputs.dtype}, but the data source provides {dtype}"
        raise FileError(str(path), "", problem, f"Save the array as {dtype}.")
    return inputs.read().astype(dtype, copy=False)


def _role(catalogue: Catalogue, key: str) -> Role:
    node_type = catalogue.get(key)
    return Role.UNKNOWN if node_type is None else node_type.role


__all__ = [
    "ARRAY_SUFFIXES",
    "BATCH_SIZE",
    "predict_batches",
    "prediction_batch_size",
    "sample_names",
    "replace_source_path",
    "prediction_samples",
    "JointSamples",
    "all_splits",
    "load_task_weights",
    "splits_of",
    "stored_array",
    "task_with_weights",
]
