"""Load weights of a file, a checkpoint or a run into the network of a project, with the rules of the project."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from engine import Tensor, dtypes, fit, from_numpy, no_grad
from engine.errors import WeightsError
from engine.io import StoredTensor
from engine.nn import Module
from studio.document.document_errors import FileError
from studio.document.model import Document, ImportedWeights
from studio.training.weights.weight_source import open_source, weights_file_error
from studio.training.weights.weight_table import Shape, WeightRow, WeightTable, weight_table

_SUPPORTED = frozenset(dtype.numpy for dtype in dtypes.ALL)


def chosen_weights(document: Document, base: Path | None, given: Path | None = None) -> ImportedWeights | None:
    """The weights that a training starts from: given ones, otherwise those of the project.

    The rules of the project apply to its file only. Paths are resolved relative to `base`.
    """
    own = document.weights
    if own is not None:
        path = (base or Path()) / own.file
        if given is None or os.path.realpath(given) == os.path.realpath(path):
            return ImportedWeights(str(path), own.part, own.rename, own.transpose)
    return None if given is None else ImportedWeights(str(given))


def load_initial_weights(weights: ImportedWeights, task: fit.Task) -> list[str]:
    """Load the weights that fit into a task's model. Returns warnings about others; raises FileError if none fit."""
    table = load_into(task.model, weights)
    if not table.match.same:
        problem = f"has no weights for this graph: {table.match}"
        remedy = "Run `gradwire weights` to find rules that rename them, or choose another file."
        raise FileError(weights.file, "", problem, remedy)
    return [] if table.match.is_complete else [f"Weights in {weights.file}: {table.match}."]


def load_into(model: Module, weights: ImportedWeights) -> WeightTable:
    """Copy the weights that fit into a model. Raises FileError if the file cannot be read."""
    stored = open_source(Path(weights.file), weights.part)
    tensors = network_tensors(model)
    table = weight_table(shapes_of(tensors), stored, weights)
    with no_grad():
        for row in table.rows:
            if row.status == "matched":
                tensor = tensors[row.name]
                tensor.copy_(_values(stored, row, weights.file).to(tensor.device))
    return table


def network_tensors(model: Module) -> dict[str, Tensor]:
    """Parameters and buffers by path. Tied parameters occur under their first name."""
    return {name: parameter.detach() for name, parameter in model.named_parameters()} | dict(model.named_buffers())


def shapes_of(tensors: Mapping[str, Tensor]) -> dict[str, Shape]:
    return {name: tuple(tensor.shape) for name, tensor in tensors.items()}


def _values(stored: Mapping[str, StoredTensor], row: WeightRow, file: str) -> Tensor:
    try:
        array = stored[row.source].read()
    except OSError as error:
        raise FileError.from_os_error(file, "cannot be read", error) from None
    except WeightsError as error:
        raise weights_file_error(Path(file), error) from None
    if array.dtype not in _SUPPORTED:  # 8-bit floating point
        array = array.astype(np.float32)
    if row.is_transposed:
        array = array.T
    return from_numpy(np.array(array, order="C"))


__all__ = ["chosen_weights", "load_initial_weights", "load_into", "network_tensors", "shapes_of"]
