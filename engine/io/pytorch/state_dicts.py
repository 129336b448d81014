"""Find the weights of a model in a checkpoint of PyTorch, which may also contain optimizers and other objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.errors import WeightsError
from engine.io.byte_source import ByteSource
from engine.io.pytorch.records import TensorRecord
from engine.io.pytorch.torch_file import TorchFile, open_torch
from engine.io.stored_tensor import StoredTensor, WeightsFile

_MODEL_PARTS = ("state_dict", "model_state_dict", "model", "module", "net", "network", "weights", "params")
"""Usual keys of the weights, the most certain first."""
_TRAINING_PARTS = ("optim", "sched", "scaler")
"""Beginnings of the keys of what is not a model."""
_MAX_DEPTH = 8
_MAX_NAME = 1000
"""Longest name of a tensor, in characters. Others are ignored."""
_MAX_SHOWN = 8


def open_state_dict(source: ByteSource, part: str = "") -> WeightsFile:
    """The weights of a model in a checkpoint. Raises as `engine.io.open_weights` does.

    Args:
        part: keys that lead to the weights, joined by dots; without it, they are searched
    """
    file = open_torch(source)
    parts = dict(_state_dicts(file.content))
    if part and part not in parts:
        raise WeightsError(f"{source.name}: has no weights at {part!r}. {_listing(parts)}")
    chosen = part or _choose(parts, source.name)
    return WeightsFile(source.name, _tensors(file, parts[chosen]), chosen, tuple(parts))


def _state_dicts(content: Any) -> Iterator[tuple[str, Mapping[str, TensorRecord]]]:
    """Paths and tensors of the mappings from names to tensors, outer ones first. Each mapping occurs once."""
    level: list[tuple[str, dict[Any, Any]]] = [("", content)] if isinstance(content, dict) else []
    seen = {id(content)}
    for _ in range(_MAX_DEPTH):
        inner: list[tuple[str, dict[Any, Any]]] = []
        for path, mapping in level:
            items = {key: each for key, each in mapping.items() if type(key) is str and len(key) <= _MAX_NAME}
            tensors = {key: each for key, each in items.items() if isinstance(each, TensorRecord)}
            if tensors:
                yield path, tensors
            for key, each in items.items():
                if isinstance(each, dict) and id(each) not in seen:
                    seen.add(id(each))
                    inner.append((f"{path}.{key}" if path else key, each))
        level = inner


def _choose(parts: Mapping[str, Any], source: str) -> str:
    if "" in parts:
        return ""
    models = [path for path in parts if not path.lower().startswith(_TRAINING_PARTS)]
    for name in _MODEL_PARTS:
        if name in models:
            return name
    if len(models) == 1:
        return models[0]
    raise WeightsError(f"{source}: contains no weights that are certainly those of a model. {_listing(parts)}")


def _listing(parts: Mapping[str, Any]) -> str:
    if not parts:
        return "It has no dictionary of names and tensors. In PyTorch, save model.state_dict()."
    shown = [f"{path or 'the whole file'} ({len(tensors)} tensors)" for path, tensors in parts.items()]
    rest = f" and {len(shown) - _MAX_SHOWN} more" if len(shown) > _MAX_SHOWN else ""
    return f"Choose a part: {', '.join(shown[:_MAX_SHOWN])}{rest}."


def _tensors(file: TorchFile, records: Mapping[str, TensorRecord]) -> dict[str, StoredTensor]:
    first: dict[tuple[Any, ...], str] = {}
    tensors: dict[str, StoredTensor] = {}
    for name, record in records.items():
        owner = first.setdefault(record.memory, name) if 0 not in record.shape else name
        tensors[name] = StoredTensor(
            record.shape, record.dtype, partial(_read, file, record), "" if owner == name else owner
        )
    return tensors


def _read(file: TorchFile, record: TensorRecord) -> NDArray[Any]:
    elements = file.read_elements(record.storage, record.dtype, record.offset, record.extent)
    return np.ascontiguousarray(record.view_of(elements, 0)).reshape(record.shape)


__all__ = ["open_state_dict"]
