"""Import of images, arrays, text and other files that are no tables."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from engine import data
from engine.data import transforms
from engine.data.images.image_decoding import SUFFIXES as IMAGE_SUFFIXES
from engine.data.numpy_files import read_array_headers
from engine.data.splits import Splits, training_batches
from engine.data.tables.inference.dialect_guess import guess_dialect
from engine.data.tables.inference.table_schema import SUFFIXES as TABLE_SUFFIXES
from engine.data.tables.inference.table_schema import TableSchema
from engine.errors import DataError
from engine.shape import Dim
from studio.lowering.analysis.input_scale import measure_input_scale
from studio.training.data.imports.import_plan import (
    ImportPlan,
    ImportPreview,
    PlannedNode,
    ReportProgress,
    written_path,
)
from studio.training.data.imports.preview_samples import preview_samples
from studio.training.data.imports.starter_network import starter_network

_SIZES = (8, 16, 28, 32, 48, 64)
"""Sizes to which images of different sizes are resized: the largest that is not above that of most images."""
_SAMPLED_IMAGES = 16
_MAX_ENTRIES = 10_000
_REGULAR = 0.9
"""Fraction of lines of a text file that must have the same number of columns in a table."""
_TARGET_NAMES = (
    ("inputs", "targets"), ("x", "y"), ("X", "y"), ("images", "labels"), ("data", "labels"), ("features", "labels"),
    ("data", "target"), ("x", "labels"),
)  # fmt: skip
"""Names of inputs, and of the targets that belong to them: parts of file names, or of names in an archive."""
_TRAINING_NAMES = ("{}", "{}_train", "train_{}", "{}_training", "training_{}")
"""Names of the training arrays in an archive, from the names of inputs or targets."""
_MAX_LABELS = 200_000
"""Samples whose classes are counted for the preview."""
_IDX = re.compile(r"^(train|t10k).*idx\d-ubyte(\.gz)?$")
_CIFAR = ("data_batch_1.bin", "train.bin")

_SOURCES: dict[str, tuple[type[Splits], str]] = {
    "data.NPY": (data.NPY, "path"),
    "data.IDX": (data.IDX, "folder"),
    "data.CIFAR": (data.CIFAR, "folder"),
    "data.ImageFolder": (data.ImageFolder, "folder"),
    "data.ImageList": (data.ImageList, "path"),
    "data.WebDataset": (data.WebDataset, "folder"),
    "data.Text": (data.Text, "path"),
}
"""Class and path parameter of each source."""


def is_table(path: Path) -> bool:
    """Whether a file is imported as a table. A text file is one if its lines have equal numbers of columns.

    Raises DataError if a text file cannot be read.
    """
    suffix = path.suffix.lower()
    if path.is_dir() or suffix not in TABLE_SUFFIXES:
        return False
    if suffix != ".txt":
        return True
    guess = guess_dialect(path)
    return guess.columns > 1 and guess.regular > _REGULAR


def may_be_read(path: Path) -> bool:
    """Whether a source reads files with this suffix, or this folder. A folder that cannot be read counts."""
    if path.suffix.lower() in TABLE_SUFFIXES and not path.is_dir():
        return True
    try:
        return source_type(path) is not None
    except DataError:
        return True


def source_type(path: Path) -> tuple[str, Path] | None:
    """The data source that reads a file or folder, and the path that it is given; None if there is none."""
    if path.is_dir():
        return _folder_source(path)
    suffix = path.suffix.lower()
    if suffix in (".npy", ".npz"):
        return "data.NPY", path
    if _IDX.match(path.name):
        return "data.IDX", path.parent
    if path.name in (*_CIFAR, "test_batch.bin", "test.bin"):
        return "data.CIFAR", path.parent
    if suffix == ".tar":
        return "data.WebDataset", path.parent
    if suffix in IMAGE_SUFFIXES:
        return _folder_source(path.parent.parent)
    return ("data.Text", path) if suffix in (".txt", ".md", ".py") else None


def _folder_source(folder: Path) -> tuple[str, Path] | None:
    names = _names(folder)
    if any(map(_IDX.match, names)):
        return "data.IDX", folder
    if any(name in _CIFAR for name in names):
        return "data.CIFAR", folder
    if any(name.lower().endswith(".tar") for name in names):
        return "data.WebDataset", folder
    if any(_has_images(folder / name) for name in names[:20]):
        return "data.ImageFolder", folder
    return None


def _names(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in islice(entries, _MAX_ENTRIES))
    except OSError as error:
        raise DataError(f"{folder}: cannot be read: {error.strerror or error}.") from None


def _has_images(folder: Path) -> bool:
    """Whether a folder has images, directly or in its folders."""
    if not folder.is_dir():
        return False
    names = _names(folder)
    if any(name.lower().endswith(IMAGE_SUFFIXES) for name in names):
        return True
    inner = [folder / name for name in names[:20] if (folder / name).is_dir()]
    return any(name.lower().endswith(IMAGE_SUFFIXES) for each in inner for name in _names(each))


def image_column(schema: TableSchema) -> str | None:
    """The column of a table that names image files beside it; None if there is none."""
    for column in schema.columns:
        named = [text for text in column.examples if text.lower().endswith(IMAGE_SUFFIXES)]
        if named and len(named) == len(column.examples) and (schema.path.parent / named[0]).is_file():
            return column.name
    return None


def plan_image_list(
    schema: TableSchema, image: str, base: Path | None = None, report_progress: ReportProgress = lambda share: None
) -> ImportPlan:
    """Images that a table lists, with its target. Raises DataError if there is no target."""
    if not schema.targets:
        raise DataError(f"{schema.path.name}: no column is the target. Set the role of a column to target.")
    params: dict[str, Any] = {"image": image, "target": schema.targets[0], "task": schema.task}
    if schema.dialect.separator in ("semicolon", "tab"):
        params["separator"] = schema.dialect.separator
    return _plan("data.ImageList", schema.path, params, base, report_progress)


def plan_file(path: Path, base: Path | None = None, report_progress: ReportProgress = lambda share: None) -> ImportPlan:
    """The nodes that read a file or folder that is no table.

    Args:
        path: file or folder
        base: folder of the project
        report_progress: receives the finished fraction; an exception ends the work

    Raises:
        DataError: no source reads it, or it is damaged.
    """
    found = source_type(path)
    if found is None:
        raise DataError(
            f"{path}: no data source reads {'this folder' if path.is_dir() else 'this file'}. Choose a table (CSV, "
            "Parquet, JSON lines), NumPy arrays, a text, or a folder with one folder of images per class, IDX, CIFAR "
            "or tar files."
        )
    kind, location = found
    params: dict[str, Any] = {}
    if kind == "data.NPY" and path.suffix.lower() == ".npy":
        params = _targets_beside(path, base)
    notes: tuple[str, ...] = ()
    if kind == "data.NPY" and path.suffix.lower() == ".npz":
        params, notes = _archive_arrays(path)
    return _plan(kind, location, params, base, report_progress, notes)


def _archive_arrays(path: Path) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The names of inputs and targets in an archive with other names than x and y, and what is not imported."""
    arrays = list(read_array_headers(path))
    lower = {name.lower(): name for name in arrays}
    pairs = (
        (form.format(inputs.lower()), form.format(targets.lower()))
        for form in _TRAINING_NAMES
        for inputs, targets in _TARGET_NAMES
    )
    found = next((pair for pair in pairs if lower.keys() >= {*pair}), None)
    if found is None:
        return {}, ()
    chosen = [lower[name] for name in found]
    others = ", ".join(name for name in arrays if name not in chosen)
    notes = (f"Inputs are {chosen[0]}, targets {chosen[1]}. {others} are not imported.",) if others else ()
    names = zip(("input_name", "target_name"), chosen, ("x", "y"), strict=True)
    return {param: name for param, name, default in names if name != default}, notes


def _targets_beside(path: Path, base: Path | None) -> dict[str, Any]:
    """The file of targets that belongs to an array of inputs."""
    for inputs, targets in _TARGET_NAMES:
        stem = re.sub(rf"(^|[_-]){inputs}($|[_-])", rf"\g<1>{targets}\g<2>", path.stem)
        other = path.with_name(f"{stem}.npy")
        if stem != path.stem and other.is_file():
            return {"targets": written_path(other, base)}
    return {}


def _plan(
    kind: str,
    path: Path,
    params: dict[str, Any],
    base: Path | None,
    report_progress: ReportProgress,
    notes: tuple[str, ...] = (),
) -> ImportPlan:
    report_progress(0.1)
    source_class, parameter = _SOURCES[kind]
    arguments = dict(params)
    if "targets" in arguments:
        arguments["targets"] = str(path.with_name(Path(arguments["targets"]).name))
    constructor: Any = source_class
    splits: Splits = constructor(**{parameter: str(path), **arguments})
    source = splits
    name = path.stem if path.is_file() else path.name
    nodes = [PlannedNode(name, kind, {parameter: written_path(path, base), **params})]
    report_progress(0.4)
    for node in _transforms(splits):
        nodes.append(node)
        splits = splits.map(getattr(transforms, node.type.rpartition(".")[2])(**node.params))
    report_progress(0.8)
    preview = ImportPreview(
        len(source.train),
        0 if source.validation is None else len(source.validation),
        str(splits.input),
        f"{source.classes} classes" if source.classes else str(splits.target),
        classes=_class_counts(source),
        samples=preview_samples(source, splits),
    )
    report_progress(1.0)
    return ImportPlan(f"Import {path.name}", tuple(nodes), preview, notes, network=starter_network(splits))


def _transforms(splits: Splits) -> Iterator[PlannedNode]:
    """Resize images of different sizes, and scale numbers."""
    spec = splits.input
    if any(isinstance(size, Dim) for size in spec.shape):
        size = _common_size(splits)
        yield PlannedNode("resize", "transforms.Resize", {"size": size})
        yield PlannedNode("crop", "transforms.CenterCrop", {"size": size})
        yield PlannedNode("to_float", "transforms.ToFloat")
        return
    scale = measure_input_scale(splits.train) if spec.ndim and _is_number(splits) else None
    if scale is None:
        return
    if not spec.dtype.is_floating_point and scale.suits_to_float(spec.dtype):
        yield PlannedNode("to_float", "transforms.ToFloat")
    elif not spec.dtype.is_floating_point or max(abs(scale.low), abs(scale.high)) > 16:
        yield PlannedNode("scale", "transforms.Normalize", scale.normalize)


def _is_number(splits: Splits) -> bool:
    """Whether inputs are quantities, not the numbers of characters or words."""
    return not isinstance(splits, data.Text)


def _common_size(splits: Splits) -> int:
    """The largest usual size that is not above the smaller side of most images."""
    rows = np.arange(min(_SAMPLED_IMAGES, len(splits.train)))
    images = splits.train.arrays(rows)[0]
    side = float(np.median([min(image.shape[-2:]) for image in images]))
    return max((size for size in _SIZES if size <= side), default=_SIZES[0])


def _class_counts(splits: Splits) -> tuple[tuple[str, int], ...]:
    count = splits.classes
    if count is None or not 0 < count <= 1000 or splits.target.ndim or len(splits.train) > _MAX_LABELS:
        return ()
    counts = np.zeros(count, np.int64)
    for batch in training_batches(splits.train, "targets"):
        counts += np.bincount(np.asarray(batch, np.int64).reshape(-1), minlength=count)[:count]
    names = splits.class_names or tuple(map(str, range(count)))
    return tuple(zip(names, counts.tolist(), strict=True))


__all__ = ["image_column", "is_table", "may_be_read", "plan_file", "plan_image_list", "source_type"]
