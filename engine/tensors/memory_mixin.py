"""Sizes, strides, storage and device of a tensor, and methods that change its memory."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from engine.backend import META, MetaArray, address, elements_from, is_pinned, namespace, pinned
from engine.errors import AutogradError, DeviceError, IndexRangeError, ShapeError
from engine.shape import Size, count, format_shape
from engine.tensors.memory_format import layout, memory_format, strided
from engine.tensors.storage import Storage, UntypedStorage, is_shared, memory_owner, shared_copy

if TYPE_CHECKING:
    from engine.tensors.methods import Tensor


class MemoryMixin:
    """Base of Tensor: sizes, strides, storage and device."""

    __slots__ = ()

    _array: Any
    _storage: Any

    # -- sizes

    @property
    def shape(self) -> Size:
        return Size(self._array.shape)

    def size(self, dim: int | None = None) -> Any:
        """Return the shape, or the size of one dimension."""
        return self.shape if dim is None else self._array.shape[self._wrapped_dim(dim)]

    @property
    def ndim(self) -> int:
        return self._array.ndim

    def dim(self) -> int:
        """Return the number of dimensions."""
        return self._array.ndim

    def ndimension(self) -> int:
        """Return the number of dimensions."""
        return self._array.ndim

    def numel(self) -> Any:
        """Return the number of elements; symbolic if a size is symbolic."""
        return count(self._array.shape)

    def nelement(self) -> Any:
        """Return the number of elements."""
        return self.numel()

    @property
    def itemsize(self) -> int:
        return self._array.dtype.itemsize

    def element_size(self) -> int:
        """Return the size of an element in bytes."""
        return self._array.dtype.itemsize

    @property
    def nbytes(self) -> Any:
        return self.numel() * self.itemsize

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError("a 0-dimensional tensor has no len()")
        return self._array.shape[0]

    def is_same_size(self, other: Tensor) -> bool:
        """Return whether both tensors have the same shape."""
        return self.shape == other.shape

    # -- strides

    def stride(self, dim: int | None = None) -> Any:
        """Return the strides in elements, or the stride of one dimension."""
        if self._storage.device is META:
            steps, size = [], 1
            for length in reversed(self._array.shape):
                steps.append(size)
                size = size * length
            found = tuple(reversed(steps))
        else:
            found = tuple(step // self.itemsize for step in self._array.strides)
        return found if dim is None else found[self._wrapped_dim(dim)]

    def storage_offset(self) -> int:
        """Return the offset of the first element in the storage, in elements."""
        array = _numbers(self)
        return (address(array) - address(memory_owner(array))) // self.itemsize

    def is_contiguous(self, memory_format: memory_format | None = None) -> bool:
        """Return whether the elements are contiguous in memory, in the order of a memory format."""
        if self._storage.device is META:
            return memory_format is None or not memory_format.order
        if memory_format is None or not memory_format.order:
            return bool(self._array.flags.c_contiguous)
        order = memory_format.order
        return self.ndim == len(order) and bool(self._array.transpose(order).flags.c_contiguous)

    def dim_order(self, *, ambiguity_check: object = False) -> tuple[int, ...]:
        """Return the dimensions ordered from the largest stride to the smallest."""
        steps = self.stride()
        return tuple(sorted(range(self.ndim), key=lambda dim: -steps[dim]))

    def data_ptr(self) -> int:
        """Return the address of the first element."""
        return address(_numbers(self))

    def is_set_to(self, tensor: Tensor) -> bool:
        """Return whether both tensors have the same storage, offset, shape and strides."""
        return (self.data_ptr(), self.shape, self.stride()) == (tensor.data_ptr(), tensor.shape, tensor.stride())

    def untyped_storage(self) -> UntypedStorage:
        """Return the storage, which all views of the tensor share."""
        self._storage.expose()
        return UntypedStorage(_numbers(self), self._storage.device)

    @property
    def layout(self) -> layout:
        return strided

    # -- device

    @property
    def is_meta(self) -> bool:
        return self._storage.device is META

    @property
    def is_cuda(self) -> bool:
        return self._storage.device.type == "cuda"

    @property
    def is_cpu(self) -> bool:
        return self._storage.device.type == "cpu"

    @property
    def is_mps(self) -> bool:
        return False

    # Device types of PyTorch that are not supported: always False.
    is_ipu = is_maia = is_mkldnn = is_mtia = is_vulkan = is_xla = is_xpu = is_mps

    @property
    def is_sparse(self) -> bool:
        return False

    @property
    def is_quantized(self) -> bool:
        return False

    @property
    def is_nested(self) -> bool:
        return False

    def get_device(self) -> int:
        """Return the index of the GPU, or -1 for a CPU tensor."""
        index = self._storage.device.index
        return -1 if index is None else index

    def is_shared(self) -> bool:
        """Return whether the memory is shared with forked processes."""
        return self.is_cuda or (not self.is_meta and is_shared(_numbers(self)))

    def is_pinned(self, device: object = None) -> bool:
        """Return whether the memory is pinned."""
        return not self.is_meta and not self.is_cuda and is_pinned(_numbers(self))

    # -- changes of memory

    def pin_memory(self, device: object = None) -> Tensor:
        """Return a copy in pinned memory. Raises DeviceError without CUDA."""
        if self.is_pinned():
            return cast("Tensor", self)
        if not self.is_cpu:
            raise DeviceError(f"pin_memory() needs a CPU tensor, but this one is on {self._storage.device}")
        return _with_array(self, pinned(_numbers(self)))

    def share_memory_(self) -> Tensor:
        """Move the tensor to shared memory, in place, for processes forked afterwards."""
        if self.is_cpu and not self.is_shared():
            self._array = shared_copy(_numbers(self))
            importlib.import_module("engine.tensors.sharing").refuse_copies(type(self))  # loads multiprocessing
        return cast("Tensor", self)

    def resize_(self, *sizes: Any, memory_format: object = None) -> Tensor:
        """Resize in place, over the same memory if it is large enough. New elements are uninitialized."""
        shape = tuple(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
        me = cast("Tensor", self)
        if me.requires_grad:
            raise AutogradError(
                "resize_() is not possible on a tensor that requires gradients.", in_code="Use detach().resize_()."
            )
        if self.is_meta:
            self._array = MetaArray(shape, self._array.dtype)
            return me
        flat, needed = _numbers(self).reshape(-1), count(shape)
        if flat.size < needed:
            larger = namespace(self._storage.device).empty(needed, flat.dtype)
            larger[: flat.size] = flat
            flat = larger
        self._array = flat[:needed].reshape(shape)
        return me

    def resize_as_(self, the_template: Tensor) -> Tensor:
        """Resize in place to the shape of another tensor."""
        return self.resize_(tuple(the_template.shape))

    def set_(
        self,
        source: Tensor | UntypedStorage | None = None,
        storage_offset: int = 0,
        size: Sequence[int] | None = None,
        stride: Sequence[int] | None = None,
    ) -> Tensor:
        """Use the memory and shape of `source`, or a part of its memory. Without a source, the tensor becomes empty."""
        me = cast("Tensor", self)
        if isinstance(source, UntypedStorage):
            source = _with_array(self, source._array.reshape(-1).view(np.uint8).view(self._array.dtype))
        if me.requires_grad and not me.is_leaf:
            raise AutogradError("set_() would discard the grad_fn of this tensor.", in_code="Use detach() first.")
        if source is None:
            self._array = _numbers(self).reshape(-1)[:0]
        elif source.dtype is not me.dtype:
            raise ShapeError(f"set_(): the source has dtype {source.dtype.name}, this tensor {me.dtype.name}")
        else:
            self._array, self._storage = _numbers(source), source._storage
            if size is not None:
                self._array = self._strided_view(storage_offset, size, stride)
        return me

    def _strided_view(self, offset: int, size: Sequence[int], stride: Sequence[int] | None) -> Any:
        """Return a view of the memory from `offset`, with strides in elements."""
        shape = tuple(size)
        steps = np.empty(shape, np.bool_).strides if stride is None else tuple(stride)
        if min(offset, *shape, *steps) < 0:
            raise ShapeError(
                f"set_(): offset {offset}, shape {format_shape(shape)} and strides {steps} must be at least 0"
            )
        flat = elements_from(memory_owner(_numbers(self)), self._array.dtype, offset)
        length = 1 + sum((n - 1) * step for n, step in zip(shape, steps, strict=True)) if all(shape) else 0
        if length > flat.size:
            raise ShapeError(f"set_(): shape {format_shape(shape)} at offset {offset} exceeds the memory")
        byte_strides = tuple(step * self.itemsize for step in steps)
        return namespace(self._storage.device).lib.stride_tricks.as_strided(flat, shape, byte_strides)

    def _wrapped_dim(self, dim: int) -> int:
        limit = max(self.ndim, 1)
        if not -limit <= dim < limit or not self.ndim:
            raise IndexRangeError(
                f"dimension {dim} is out of range for {format_shape(self.shape)}, which has {self.ndim} dimensions"
            )
        return dim % limit


def _with_array(tensor: Any, array: np.ndarray[Any, Any]) -> Tensor:
    """Return a tensor like this one over another storage."""
    result = tensor.detach()
    result._array, result._storage = array, Storage(tensor._storage.device)
    return result


def _numbers(tensor: Any) -> Any:
    if tensor._storage.device is META:
        raise DeviceError(
            f"this {format_shape(tensor._array.shape)} tensor is on the meta device: it has a shape but no data"
        )
    return tensor._numbers()
