"""Tensor class: a view of a storage with autograd state. Its op methods come from the registry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from engine import dtypes
from engine.backend import CPU, META, Device, MetaArray, namespace, resolve, to_host
from engine.dtypes import NATIVE_FLOATS, NUMBERS, DType
from engine.errors import AutogradError, DeviceError, DTypeError, ShapeError
from engine.graph import Node
from engine.graph.node_hooks import Hooks
from engine.modes import MODES
from engine.ops.movement import primitives
from engine.shape import Size, Spec, format_shape
from engine.tensors.autograd_mixin import AutogradMixin
from engine.tensors.conversion_mixin import ConversionMixin
from engine.tensors.deferred import Deferred, adopt, settled
from engine.tensors.interop_mixin import InteropMixin
from engine.tensors.memory_mixin import MemoryMixin
from engine.tensors.printing import tensor_text
from engine.tensors.storage import Storage


class Tensor(AutogradMixin, MemoryMixin, ConversionMixin, InteropMixin):
    """Multi-dimensional array with autograd support. Create one with `engine.tensor`."""

    __module__ = "engine"  # the public path, for messages and pickles

    __slots__ = (
        "__dict__",  # for attributes that users set, as on PyTorch's tensors; created with the first one
        "__weakref__",
        "_array",
        "_base",
        "_grad",
        "_hooks",
        "_index",
        "_node",
        "_requires_grad",
        "_storage",
        "_view",
    )
    __array_priority__ = 1000  # so that ndarray + Tensor calls Tensor.__radd__

    def __init__(
        self, array: Any = (), storage: Any = None, *sizes_left: Any, device: Any = None, requires_grad: bool = False
    ) -> None:
        if type(storage) is not Storage:  # PyTorch's legacy constructor: Tensor(2, 3) or Tensor([1, 2])
            sizes = (array, *(() if storage is None else (storage,)), *sizes_left)
            array, storage = legacy_memory(sizes, dtypes.get_default_dtype(), resolve(device))
        self._array = array
        self._storage: Storage = storage
        self._requires_grad = requires_grad
        self._node: Node | None = None
        self._index = 0
        self._grad: Tensor | None = None
        self._base: Tensor | None = None
        self._view: tuple[Any, ...] | None = None
        """For a view: the ops from the base to this tensor, and the base's grad_fn when the view was made."""
        self._hooks: Hooks | None = None

    # -- data

    @property
    def spec(self) -> Spec:
        return Spec(tuple(self._array.shape), self.dtype)

    @property
    def data(self) -> Tensor:
        """Detached alias of the tensor. Autograd does not record writes to it."""
        alias = Tensor(self._array, self._storage.alias())
        adopt(alias)
        if MODES.fast_call is None and MODES.observer is not None:
            MODES.observer.cut(self.edge, alias, "data")
        return alias

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"data must be a tensor, not {type(value).__name__}. Use engine.tensor(...).")
        self._array, self._storage = value._array, value._storage
        adopt(self)

    def detach(self) -> Tensor:
        """Return a tensor that shares the memory but has no grad_fn."""
        alias = Tensor(self._array, self._storage)
        adopt(alias)
        if MODES.fast_call is None and MODES.observer is not None:
            MODES.observer.cut(self.edge, alias, "detach")
        return alias

    def detach_(self) -> Tensor:
        """Discard grad_fn in place, which makes the tensor a leaf."""
        if self._base is not None:
            raise AutogradError("detach_() is not possible on a view.", in_code="Use detach() for a new tensor.")
        if MODES.fast_call is None and MODES.observer is not None:
            MODES.observer.cut(self.edge, self, "detach")
        self._node, self._index, self._requires_grad = None, 0, False
        return self

    def _copied(self) -> Tensor:
        """Return a detached copy."""
        if MODES.capture is not None:
            return MODES.capture.copy(self)
        return Tensor(self._array if self.is_meta else self._array.copy(), Storage(self._storage.device))

    def _filled_alike(self, value: float) -> Tensor:
        """Return a detached tensor filled with `value`, with this one's shape, dtype and device."""
        array, device = self._array, self._storage.device
        if MODES.fast_call is None and MODES.capture is not None and device is not META:
            recorded = MODES.capture.fill(tuple(array.shape), array.dtype, value, device)
            if recorded is not None:
                return recorded
        if device is not META:
            array = namespace(device).empty(array.shape, array.dtype)
            array.fill(value)  # full() takes twice as long
        return Tensor(array, Storage(device))

    def _with_history(self, node: Node, index: int) -> Tensor:
        tensor = Tensor(self._array, self._storage, requires_grad=True)
        tensor._node, tensor._index = node, index
        return tensor

    def _numbers(self) -> Any:
        if self.is_meta:
            self._no_numbers()
        if MODES.capture is not None or type(self._array) is Deferred:
            return settled(self)
        return self._array

    def _no_numbers(self) -> NoReturn:
        raise DeviceError(f"this {format_shape(self.shape)} tensor is on the meta device: it has a shape but no data")

    # -- transposes

    @property
    def T(self) -> Tensor:
        """View with the dimensions in reverse order."""
        return primitives.permute.function(self, tuple(range(self._array.ndim))[::-1])

    @property
    def mT(self) -> Tensor:
        """View with the last two dimensions swapped."""
        if self.ndim == 0:
            return self.view(())
        if self.ndim < 2:
            raise ShapeError(f"mT needs a matrix or a batch of matrices, but the tensor has {self.ndim} dimensions")
        return primitives.transpose(self, -2, -1)

    @property
    def mH(self) -> Tensor:
        """Same as mT, since there are no complex dtypes."""
        return self.mT

    @property
    def H(self) -> Tensor:
        """Transpose of a matrix."""
        if self.ndim not in (0, 2):
            raise ShapeError(f"H needs a matrix, but the tensor has {self.ndim} dimensions. Use mH for batches.")
        return self.T

    # -- new tensors with this dtype and device

    def new_tensor(
        self, data: Any, *, dtype: DType | None = None, device: Any = None, requires_grad: bool = False
    ) -> Tensor:
        """Return a copy of `data` with this tensor's dtype and device."""
        target_device = self.device if device is None else resolve(device)
        values = data.detach().cpu()._numbers() if isinstance(data, Tensor) else data
        array = self._converted(values, dtypes.as_optional_dtype("new_tensor", dtype) or self.dtype)
        if target_device is META and MODES.tracer is not None:
            target_device = CPU  # a traced model may use its values
        if target_device is META:
            return Tensor(MetaArray(array.shape, array.dtype), Storage.fresh(META)).requires_grad_(requires_grad)
        moved = array if target_device is CPU else namespace(target_device).asarray(array)
        return Tensor(moved, Storage.fresh(target_device)).requires_grad_(requires_grad)

    @staticmethod
    def _converted(values: Any, dtype: DType) -> np.ndarray[Any, Any]:
        try:
            return np.array(values, dtype=dtype.numpy)
        except (TypeError, ValueError) as error:
            raise DTypeError(f"cannot convert {type(values).__name__} to {dtype.name}: {error}") from None

    def new_empty(self, *size: Any, **options: Any) -> Tensor:
        """Return an uninitialized tensor with this tensor's dtype and device."""
        return self._new("empty", size, **options)

    def new_zeros(self, *size: Any, **options: Any) -> Tensor:
        """Return zeros with this tensor's dtype and device."""
        return self._new("zeros", size, **options)

    def new_ones(self, *size: Any, **options: Any) -> Tensor:
        """Return ones with this tensor's dtype and device."""
        return self._new("ones", size, **options)

    def new_full(self, size: Sequence[Any], fill_value: Any, **options: Any) -> Tensor:
        """Return a tensor filled with `fill_value`, with this tensor's dtype and device."""
        leaf = options.pop("requires_grad", False)
        return self._new("empty", (tuple(size),), **options).fill_(fill_value).requires_grad_(leaf)

    def new(self, *data: Any) -> Tensor:
        """Create a tensor with this tensor's dtype and device from sizes or data. Legacy constructor of PyTorch."""
        return Tensor(*legacy_memory(data, self.dtype, self.device))

    def _new(
        self,
        kind: str,
        size: tuple[Any, ...],
        *,
        dtype: DType | None = None,
        device: Any = None,
        requires_grad: bool = False,
        layout: object = None,
        pin_memory: bool = False,
    ) -> Tensor:
        shape = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
        numpy = self._array.dtype if dtype is None else dtypes.as_dtype(f"new_{kind}", dtype).numpy
        target_device = self.device if device is None else resolve(device)
        if target_device is META and MODES.tracer is not None:
            return MODES.tracer.created(kind, None, shape, dtypes.from_numpy(numpy), {"zeros": 0, "ones": 1}.get(kind))
        array = (
            MetaArray(shape, numpy) if target_device is META else getattr(namespace(target_device), kind)(shape, numpy)
        )
        result = Tensor(array, Storage.fresh(target_device))
        return result.requires_grad_() if requires_grad else result

    # -- in-place writes that are not variants of an op

    def copy_(self, other: Any, non_blocking: bool = False) -> Tensor:
        """Copy the elements of `other`, broadcast and converted to this tensor's dtype."""
        if not isinstance(other, Tensor):
            other = self.new_tensor(other)
        elif other._array.dtype is not self._array.dtype or other._storage.device is not self._storage.device:
            other = other.to(dtype=self.dtype, device=self.device)
        return self.assign_(other)

    def fill_(self, value: float | Tensor) -> Tensor:
        """Fill with `value`, a number or a 0-dimensional tensor."""
        if isinstance(value, Tensor) and value.ndim:
            raise ShapeError(
                f"fill_() needs a number or a 0-dimensional tensor, not {format_shape(value.shape)}.",
                in_code="Use copy_().",
            )
        is_plain = type(value) in NUMBERS and self._array.dtype in NATIVE_FLOATS and self._storage.device is CPU
        return self.assign_(value) if is_plain else self.copy_(value)

    def zero_(self) -> Tensor:
        """Fill with zeros."""
        return self.fill_(0)

    def __repr__(self) -> str:
        return _format(self)

    def __format__(self, spec: str) -> str:
        """Format a 0-dimensional tensor as a number: ``f"{loss:.4f}"``."""
        return format(self.item(), spec) if self.ndim == 0 and not self.is_meta else object.__format__(self, spec)


def legacy_memory(args: tuple[Any, ...], dtype: DType, device: Device) -> tuple[Any, Storage]:
    """Return the array and storage of PyTorch's legacy constructors: from sizes, or from a list, array or tensor."""
    data = args[0] if len(args) == 1 else args
    if isinstance(data, Tensor):
        if data.dtype is not dtype:
            raise DTypeError(
                f"a tensor type of {dtype.name} cannot be created from {data.dtype.name} data.",
                in_code="Use to(dtype).",
            )
        return data._array, data._storage
    if isinstance(data, MetaArray):
        return data, Storage(META)
    sizes = (data,) if isinstance(data, int) else data
    is_shape = isinstance(data, (int, Size)) or (len(args) != 1 and all(isinstance(one, int) for one in args))
    if device is META:
        shape = tuple(sizes) if is_shape else np.shape(data)
        return MetaArray(shape, dtype.numpy), Storage.fresh(META)
    if isinstance(data, (float, str)) or (len(args) > 1 and not is_shape):
        raise TypeError(f"Tensor() takes sizes or a sequence, not {data!r}. Use engine.tensor().")
    array = np.empty(sizes, dtype.numpy) if is_shape and args else np.array(data, dtype.numpy)
    return (array if device is CPU else namespace(device).asarray(array)), Storage.fresh(device)


def _format(tensor: Tensor) -> str:
    default, suffixes = dtypes.get_default_dtype(), []
    empty = not tensor.is_meta and tensor.numel() == 0
    if tensor.device is not CPU:
        suffixes.append(f"device={str(tensor.device)!r}")
    if tensor.is_meta or (empty and tensor.ndim != 1):
        suffixes.append(f"size={tuple(tensor.shape)}")
    implied = (default,) if tensor.is_meta or empty else (dtypes.bool_, dtypes.int64, default)
    if tensor.dtype not in implied:
        suffixes.append(f"dtype={tensor.dtype!r}")
    if tensor.grad_fn is not None:
        suffixes.append(f"grad_fn=<{tensor.grad_fn.name()}>")
    elif tensor.requires_grad:
        suffixes.append("requires_grad=True")
    if tensor.is_meta:
        return f"tensor(..., {', '.join(suffixes)})"
    return tensor_text(to_host(tensor._numbers()), suffixes)
