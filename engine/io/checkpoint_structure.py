"""The structure of a checkpoint as JSON metadata, with references to tensors by name.

The JSON is validated against a schema before objects are built, so damaged or malicious files raise WeightsError.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType

from engine.backend import Device
from engine.dtypes import BY_NAME, DType
from engine.errors import EngineError, WeightsError
from engine.tensors import Tensor
from engine.tensors.creation import from_numpy

PLAIN = (str, bool, int, float, type(None))
CONTAINERS: dict[type, str] = {dict: "dict", OrderedDict: "ordered", list: "list", tuple: "tuple", set: "set"}
BUILD = {name: kind for kind, name in CONTAINERS.items()}


class _TaggedValue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A value that JSON cannot represent. Exactly one field is set, and `requires_grad` only with `tensor`."""

    tensor: str | UnsetType = UNSET
    requires_grad: bool = False
    array: str | UnsetType = UNSET
    device: str | UnsetType = msgspec.field(name="Device", default=UNSET)
    dtype: str | UnsetType = msgspec.field(name="DType", default=UNSET)
    mapping: list[tuple[_Value, _Value]] | UnsetType = msgspec.field(name="dict", default=UNSET)
    ordered: list[tuple[_Value, _Value]] | UnsetType = UNSET
    sequence: list[_Value] | UnsetType = msgspec.field(name="list", default=UNSET)
    row: list[_Value] | UnsetType = msgspec.field(name="tuple", default=UNSET)
    members: list[_Value] | UnsetType = msgspec.field(name="set", default=UNSET)

    @property
    def kind(self) -> tuple[str, Any]:
        """Name in the file and value of the field that is set. Raises ValueError unless there is exactly one."""
        names = zip(self.__struct_encode_fields__, self.__struct_fields__, strict=True)
        fields = {key: getattr(self, name) for key, name in names if key != "requires_grad"}
        found = [(key, value) for key, value in fields.items() if value is not UNSET]
        if len(found) != 1:
            raise ValueError(f"an object has {len(found)} kinds, but one is needed")
        return found[0]


_Value: TypeAlias = bool | int | float | str | _TaggedValue | None


def encode_structure(value: Any, path: tuple[Any, ...], tensors: dict[str, Tensor], source: str) -> Any:
    """Encode `value` as JSON and add its tensors to `tensors`. `path` and `source` name it in errors."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, (Tensor, np.ndarray)):
        name = ".".join(map(str, path)) or "tensor"
        while name in tensors:
            name += "_"
        tensors[name] = from_numpy(value) if isinstance(value, np.ndarray) else value.detach()
        if isinstance(value, np.ndarray):
            return {"array": name}
        return {"tensor": name} | ({"requires_grad": True} if value.requires_grad else {})
    if isinstance(value, (Device, DType)):
        return {type(value).__name__: str(value).removeprefix("engine.")}
    kind = next((base for base in (OrderedDict, dict, list, tuple, set) if isinstance(value, base)), None)
    if kind is None:
        raise WeightsError(f"{source}: {_unsupported_message(value, path, source)}")
    if isinstance(value, Mapping):
        pairs = [
            [encode_structure(key, path, tensors, source), encode_structure(item, (*path, key), tensors, source)]
            for key, item in value.items()
        ]
        return {CONTAINERS[kind]: pairs}
    return {CONTAINERS[kind]: [encode_structure(item, (*path, i), tensors, source) for i, item in enumerate(value)]}


def decode_structure(text: str, tensors: Mapping[str, Tensor], source: str) -> Any:
    """Build the object from its JSON description. Raises WeightsError if the description is invalid."""
    try:
        return _decode(msgspec.convert(json.loads(text), _Value), tensors)
    except RecursionError:
        problem = "it is nested too deeply"
    except KeyError as error:
        problem = f"it refers to {str(error)[:80]}, which the file does not have"
    except (ValueError, TypeError, EngineError) as error:  # msgspec's errors are ValueErrors
        problem = str(error)
    raise WeightsError(f"{source}: is damaged: its description cannot be used ({problem}). Copy or save it again.")


def _decode(value: Any, tensors: Mapping[str, Tensor]) -> Any:
    if not isinstance(value, _TaggedValue):
        return value
    kind, content = value.kind
    if kind == "tensor":
        return tensors[content].requires_grad_(value.requires_grad)
    if kind == "array":
        return tensors[content].cpu().numpy()
    if kind == "Device":
        return Device(content)
    if kind == "DType":
        return BY_NAME[content]
    if kind in ("dict", "ordered"):
        return BUILD[kind]((_decode(key, tensors), _decode(item, tensors)) for key, item in content)
    return BUILD[kind](_decode(item, tensors) for item in content)


def _unsupported_message(value: Any, path: tuple[Any, ...], source: str) -> str:
    """Why `value` cannot be saved, and what to save instead."""
    name = ".".join(map(str, path))
    problem = f"{name or 'the object'} is a {type(value).__name__}, which cannot be saved."
    if not callable(getattr(value, "state_dict", None)):
        return f"{problem} Save numbers, strings, tensors, and dicts and lists of them."
    if name:
        return f"{problem} Save its state_dict() instead, and load that with load_state_dict()."
    file = json.dumps(source)
    return (
        f"{problem} Save its weights: engine.save(model.state_dict(), {file}). "
        f"Load them with model.load_state_dict(engine.load({file}))."
    )


__all__ = ["decode_structure", "encode_structure"]
