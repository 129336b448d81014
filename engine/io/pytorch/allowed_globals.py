"""The globals that a checkpoint may name, and what each stands for. Looking one up imports nothing.

The list is that of `torch.load(weights_only=True)`, without tensors that the engine does not have.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from engine import dtypes
from engine.backend import Device
from engine.errors import DeviceError
from engine.io.pytorch.records import (
    DTYPES,
    Constructor,
    DTypeRecord,
    PickleError,
    Record,
    RefusedError,
    StorageType,
    TensorFactory,
    TensorType,
    checked_tensor,
    is_size,
)
from engine.shape import Size

Build = Callable[[tuple[Any, ...], TensorFactory], Any]

_SAVE_STATE = "In PyTorch, save the weights only: torch.save(model.state_dict(), FILE)."


def find_global(module: str, name: str) -> Any:
    """The value of a global: a record, or a dtype of the engine. Raises RefusedError for all that are not listed."""
    module = _RENAMED.get(module, module)
    if module == "torch" and name in DTYPES:
        return dtypes.BY_NAME.get(name) or DTypeRecord(name)
    found = _GLOBALS.get((module, name))
    if found is not None:
        return found
    full_name = f"{module[:80]}.{name[:80]}"
    if reason := _UNSUPPORTED.get((module, name)):
        raise RefusedError(f"contains {reason} ({full_name}), which cannot be read. {_DENSE}")
    raise RefusedError(f"refers to {full_name}, which is not data and is never executed. {_SAVE_STATE}")


def hashable_key(value: Any) -> bool:
    """Whether a value may be a key. Nested tuples are not, as hashing them can take exponential time."""
    if type(value) is int:
        return -(1 << 63) <= value < 1 << 64
    if type(value) is tuple:
        return len(value) <= _MAX_KEY and all(type(each) is not tuple and hashable_key(each) for each in value)
    return value is None or type(value) in (str, bytes, bool, float) or isinstance(value, (dtypes.DType, Device))


# -- what globals build


def _rebuild_tensor(arguments: tuple[Any, ...], factory: TensorFactory) -> Any:
    storage, offset, shape, strides = _counted(arguments, 4)
    return factory.tensor(checked_tensor(storage, _dtype_of(storage), offset, shape, strides, False))


def _rebuild_tensor_v2(arguments: tuple[Any, ...], factory: TensorFactory) -> Any:
    storage, offset, shape, strides, requires_grad, hooks, *metadata = _counted(arguments, 6, 7)
    _check_plain(hooks, *metadata)
    return factory.tensor(checked_tensor(storage, _dtype_of(storage), offset, shape, strides, requires_grad))


def _rebuild_tensor_v3(arguments: tuple[Any, ...], factory: TensorFactory) -> Any:
    storage, offset, shape, strides, requires_grad, hooks, dtype, *metadata = _counted(arguments, 7, 8)
    _check_plain(hooks, *metadata)
    if not isinstance(dtype, (dtypes.DType, DTypeRecord)):
        raise PickleError(f"a tensor has a {type(dtype).__name__} in place of a dtype")
    return factory.tensor(checked_tensor(storage, DTYPES[dtype.name], offset, shape, strides, requires_grad))


def _rebuild_parameter(arguments: tuple[Any, ...], factory: TensorFactory) -> Any:
    data, requires_grad, hooks, *_ = _counted(arguments, 3, 4)  # the fourth are attributes of the Python object
    _check_plain(hooks)
    return _parameter(data, requires_grad, factory)


def _parameter_class(arguments: tuple[Any, ...], factory: TensorFactory) -> Any:
    data, *rest = _counted(arguments, 1, 2)
    return _parameter(data, rest[0] if rest else True, factory)


def _parameter(data: Any, requires_grad: Any, factory: TensorFactory) -> Any:
    if not factory.is_tensor(data) or not isinstance(requires_grad, bool):
        raise PickleError(f"a parameter has a {type(data).__name__} in place of a tensor")
    return factory.parameter(data, requires_grad)


def _rebuild_from_type(arguments: tuple[Any, ...], factory: TensorFactory) -> Any:
    """A tensor with attributes of its Python object, which are dropped."""
    rebuild, kind, given, _ = _counted(arguments, 4)
    if not isinstance(rebuild, Constructor) or rebuild.name not in _REBUILDS or not isinstance(given, tuple):
        raise PickleError("a tensor is not built by a function that builds tensors")
    if not isinstance(kind, (TensorType, Constructor)):
        raise PickleError("a tensor has no tensor class")
    return rebuild.build(given, factory)


def _ordered(arguments: tuple[Any, ...], factory: TensorFactory) -> OrderedDict[Any, Any]:
    return OrderedDict(_pairs(arguments))


def _counter(arguments: tuple[Any, ...], factory: TensorFactory) -> Counter[Any]:
    return Counter(dict(_pairs(arguments)))


def _pairs(arguments: tuple[Any, ...]) -> list[tuple[Any, Any]]:
    (items,) = _counted(arguments, 0, 1) or ((),)
    if type(items) in (dict, OrderedDict):
        return list(items.items())
    if type(items) not in (list, tuple) or not all(
        type(pair) in (list, tuple) and len(pair) == 2 and hashable_key(pair[0]) for pair in items
    ):
        raise PickleError("a dictionary is not built of pairs of keys and values")
    return [(pair[0], pair[1]) for pair in items]


def _collection(kind: Callable[..., Any], *, needs_keys: bool) -> Build:
    def build(arguments: tuple[Any, ...], factory: TensorFactory) -> Any:
        (items,) = _counted(arguments, 0, 1) or ((),)
        if type(items) not in (list, tuple, set, frozenset) or (needs_keys and not all(map(hashable_key, items))):
            raise PickleError("a list, tuple or set is not built of a list of values")
        return kind(items)

    return build


def _size(arguments: tuple[Any, ...], factory: TensorFactory) -> Size:
    (sizes,) = _counted(arguments, 1)
    if type(sizes) not in (list, tuple) or not all(map(is_size, sizes)):
        raise PickleError("a torch.Size is not built of sizes")
    return Size(sizes)


def _device(arguments: tuple[Any, ...], factory: TensorFactory) -> Device:
    kind, *index = _counted(arguments, 1, 2)
    if type(kind) is not str or not all(map(is_size, index)):
        raise PickleError("a torch.device is not built of a name and a number")
    try:
        return Device(kind, *index)
    except DeviceError:
        raise RefusedError(
            f"contains the device {kind[:40]!r}, which the engine does not have. {_SAVE_STATE}"
        ) from None


def _encode(arguments: tuple[Any, ...], factory: TensorFactory) -> bytes:
    """Bytes as protocol 2 stores them: as text in Latin-1."""
    text, encoding = _counted(arguments, 2)
    if type(text) is not str or encoding not in ("latin1", "latin-1"):
        raise PickleError("bytes are not stored as text in Latin-1")
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        raise PickleError("bytes are stored as text with characters beyond Latin-1") from None


def _bytes(arguments: tuple[Any, ...], factory: TensorFactory) -> bytes:
    _counted(arguments, 0)
    return b""


def _complex(arguments: tuple[Any, ...], factory: TensorFactory) -> complex:
    real, imaginary = _counted(arguments, 2)
    if type(real) is not float or type(imaginary) is not float:
        raise PickleError("a complex number is not built of two numbers")
    return complex(real, imaginary)


# -- checks of arguments


def _counted(arguments: tuple[Any, ...], *lengths: int) -> tuple[Any, ...]:
    if not min(lengths) <= len(arguments) <= max(lengths):
        raise PickleError(f"a constructor has {len(arguments)} arguments, not {' or '.join(map(str, lengths))}")
    return arguments


def _dtype_of(storage: Any) -> Any:
    dtype = getattr(storage, "dtype", None)
    if dtype is None:
        raise PickleError("a tensor has no typed storage")
    return dtype


def _check_plain(hooks: Any, metadata: Any = None) -> None:
    """Raise if a tensor has hooks, or a flag that changes its values: `conj` or `neg`."""
    if hooks is not None and (not isinstance(hooks, dict) or hooks):
        raise RefusedError(f"contains a tensor with hooks, which are code. {_SAVE_STATE}")
    if metadata:
        raise RefusedError(
            "contains a conjugated or negated view. In PyTorch, save tensor.resolve_conj().resolve_neg()."
        )


# -- the list

_MAX_KEY = 64
"""Largest length of a tuple that is a key."""
_RENAMED = {"__builtin__": "builtins", "torch.cuda": "torch"}
"""Modules under another name: in Python 2, and storages of GPUs."""
_DENSE = "In PyTorch, convert it to a dense tensor of numbers before saving."

_STORAGES: Mapping[str, str] = {
    "FloatStorage": "float32",
    "DoubleStorage": "float64",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
    "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128",
}

_BUILDS: Mapping[tuple[str, str], Build] = {
    ("torch._utils", "_rebuild_tensor"): _rebuild_tensor,
    ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor_v2,
    ("torch._utils", "_rebuild_tensor_v3"): _rebuild_tensor_v3,
    ("torch._utils", "_rebuild_parameter"): _rebuild_parameter,
    ("torch._utils", "_rebuild_parameter_with_state"): _rebuild_parameter,
    ("torch._tensor", "_rebuild_from_type_v2"): _rebuild_from_type,
    ("torch.nn.parameter", "Parameter"): _parameter_class,
    ("collections", "OrderedDict"): _ordered,
    ("collections", "Counter"): _counter,
    ("builtins", "dict"): lambda arguments, _: dict(_pairs(arguments)),
    ("builtins", "list"): _collection(list, needs_keys=False),
    ("builtins", "tuple"): _collection(tuple, needs_keys=False),
    ("builtins", "set"): _collection(set, needs_keys=True),
    ("builtins", "frozenset"): _collection(frozenset, needs_keys=True),
    ("builtins", "bytes"): _bytes,
    ("builtins", "complex"): _complex,
    ("_codecs", "encode"): _encode,
    ("torch", "Size"): _size,
    ("torch", "device"): _device,
}
_REBUILDS = frozenset(f"{module}.{name}" for module, name in _BUILDS if module == "torch._utils")

_GLOBALS: Mapping[tuple[str, str], Record] = {
    **{(module, name): Constructor(f"{module}.{name}", build) for (module, name), build in _BUILDS.items()},
    **{("torch", name): StorageType(DTYPES[dtype]) for name, dtype in _STORAGES.items()},
    ("torch", "UntypedStorage"): StorageType(None),
    ("torch.storage", "UntypedStorage"): StorageType(None),
    ("torch", "Tensor"): TensorType(),
}

_UNSUPPORTED: Mapping[tuple[str, str], str] = {
    ("torch._utils", "_rebuild_qtensor"): "a quantized tensor",
    ("torch._utils", "_rebuild_sparse_tensor"): "a sparse tensor",
    ("torch._utils", "_rebuild_sparse_csr_tensor"): "a sparse tensor",
    ("torch._utils", "_rebuild_meta_tensor_no_storage"): "a tensor on the meta device, without data",
    ("torch._utils", "_rebuild_nested_tensor"): "a nested tensor",
    ("torch._utils", "_rebuild_wrapper_subclass"): "a subclass of tensors",
    ("torch._utils", "_rebuild_device_tensor_from_numpy"): "a tensor of another device",
    ("torch._utils", "_rebuild_device_tensor_from_cpu_tensor"): "a tensor of another device",
    ("torch._utils", "_rebuild_xla_tensor"): "a tensor of another device",
    ("torch.serialization", "_get_layout"): "a memory layout",
    **{
        ("torch", f"Q{kind}Storage"): "a quantized storage" for kind in ("Int8", "UInt8", "Int32", "UInt4x2", "UInt2x4")
    },
}

__all__ = ["find_global", "hashable_key"]
