"""Make tensors of the engine of the records in a checkpoint. Tensors that shared memory share it again."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import dtypes, lazy
from engine.backend import Device
from engine.errors import WeightsError
from engine.io.pytorch.records import TensorRecord
from engine.io.pytorch.torch_file import TorchFile
from engine.tensors import Tensor
from engine.tensors.creation import from_numpy
from engine.tensors.storage import Storage

parameters = lazy.module("engine.nn.parameter")  # few files contain parameters


class EngineTensors:
    """Factory of tensors that reads each storage of a checkpoint once.

    Args:
        file: the checkpoint
        source: name of the file in errors
        device: device of the tensors; on another device than the CPU, views do not share memory
    """

    def __init__(self, file: TorchFile, source: str, device: Device | str) -> None:
        self._file, self._source, self._device = file, source, device
        self._storages: dict[tuple[str, Any], tuple[np.ndarray[Any, Any], Storage]] = {}
        self._copies: dict[tuple[Any, ...], Tensor] = {}
        """Tensors on another device, by the memory that they view."""

    def tensor(self, record: TensorRecord) -> Tensor:
        return self._on_device(record).requires_grad_(record.requires_grad)

    def parameter(self, data: Tensor, requires_grad: bool) -> Tensor:
        return parameters.Parameter(data, requires_grad)

    def is_tensor(self, value: Any) -> bool:
        return isinstance(value, Tensor)

    def _on_device(self, record: TensorRecord) -> Tensor:
        if Device(self._device).type == "cpu":
            return self._view(record)
        if record.memory not in self._copies:
            self._copies[record.memory] = self._view(record).to(self._device)
        return self._copies[record.memory].detach()

    def _view(self, record: TensorRecord) -> Tensor:
        if record.dtype not in _SUPPORTED:
            raise WeightsError(
                f"{self._source}: contains a tensor of dtype {record.dtype}, which the engine does not have. "
                f"Convert it to one of: {', '.join(dtypes.BY_NAME)}."
            )
        elements, storage = self._storage(record)
        return Tensor(record.view_of(elements, record.offset), storage)

    def _storage(self, record: TensorRecord) -> tuple[np.ndarray[Any, Any], Storage]:
        key = (record.storage.key, record.dtype)
        if key not in self._storages:
            count = record.storage.size // record.dtype.itemsize
            elements = self._file.read_elements(record.storage, record.dtype, 0, count)
            self._storages[key] = elements, from_numpy(elements)._storage
        return self._storages[key]


_SUPPORTED = frozenset(dtype.numpy for dtype in dtypes.ALL)

__all__ = ["EngineTensors"]
