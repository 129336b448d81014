"""Open the weights of a run, a checkpoint or any weights file as tensors that are read when they are needed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from engine import Tensor
from engine.errors import WeightsError
from engine.io import StoredTensor, WeightsFile, open_weights, read_metadata
from engine.io.checkpoint import STRUCTURE
from studio.document.document_errors import FileError
from studio.training.runs.run_resuming import load_weights


def open_source(path: Path, part: str = "") -> WeightsFile:
    """Open weights. Raises FileError if there are none.

    Args:
        path: a run folder (its last weights), a checkpoint of a run, or a file that `engine.io.open_weights` opens
        part: location of the weights in a nested checkpoint of PyTorch
    """
    if not os.path.exists(path):
        raise FileError(str(path), "", "is not a run, checkpoint or weights file", "Check the path.")
    if path.is_dir() or _is_gradwire_file(path):
        return WeightsFile(str(path), _stored(load_weights(path)))
    try:
        return open_weights(path, part)
    except OSError as error:
        raise FileError.from_os_error(path, "cannot be read", error) from None
    except WeightsError as error:
        raise weights_file_error(path, error) from None


def _is_gradwire_file(path: Path) -> bool:
    """Whether `engine.save` wrote a file, which then has a checksum."""
    try:
        return STRUCTURE in read_metadata(path)
    except (OSError, WeightsError):
        return False


def _stored(tensors: Mapping[str, Tensor]) -> dict[str, StoredTensor]:
    return {
        name: StoredTensor(tuple(tensor.shape), tensor.dtype.numpy, lambda tensor=tensor: tensor.cpu().numpy())
        for name, tensor in tensors.items()
    }


def weights_file_error(path: Path, error: WeightsError) -> FileError:
    """The error of a file as one of the studio, with problem and remedy apart."""
    problem, _, remedy = str(error).removeprefix(f"{path}: ").rpartition(". ")
    return FileError(str(path), "", problem, remedy)


__all__ = ["open_source", "weights_file_error"]
