"""What a tensor tells of its memory, and how it takes on other memory."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from engine.backend import META, MetaArray, address, is_pinned, namespace, pinned
from engine.errors import AutogradError, DeviceError, PositionError, ShapeError
from engine.shape import Size, count, format_shape
from engine.tensors.memory_format import layout, memory_format, strided
from engine.tensors.storage import Storage, UntypedStorage, is_shared, shared_copy, whole

if TYPE_CHECKING:
    from engine.tensors.methods import Tensor


class MemoryMixin:
    """Base of Tensor: sizes, steps, addresses."""

    __slots__ = ()

    _array: Any
    _storage: Any

    # -- sizes

    @property
    def shape(self) -> Size:
        return Size(self._array.shape)

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the size of one dimension."""
        return self.shape if dim is None else self._array.shape[self._wrapped_dim(dim)]

    @property
    def ndim(self) -> int:
        return self._array.ndim

    def dim(self) -> int:
        """How many dimensions there are."""
        return self._array.ndim

    def ndimension(self) -> int:
        """How many dimensions there are."""
        return self._array.ndim

    def numel(self) -> Any:
        """How many elements there are; symbolic where a size is."""
        return count(self._array.shape)

    def nelement(self) -> Any:
        """How many elements there are."""
        return self.numel()

    @property
    def itemsize(self) -> int:
        return self._array.dtype.itemsize

    def element_size(self) -> int:
        """Bytes of one element."""
        return self._array.dtype.itemsize

    @property
    def nbytes(self) -> Any:
        return self.numel() * self.itemsize

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError("len() of a 0-dimensional tensor")
        return self._array.shape[0]

    def is_same_size(self, other: Tensor) -> bool:
        """Whether both have one shape."""
        return self.shape == other.shape

    # -- steps

    def stride(self, dim: int | None = None) -> Any:
        """How many elements apart neighbours are, in each dimension or in one."""
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
        """How many elements of the memory come before the first of this tensor."""
        array = _numbers(self)
        return (address(array) - address(whole(array))) // self.itemsize

    def is_contiguous(self, memory_format: memory_format | None = None) -> bool:
        """Whether the elements lie without gaps in order, or in the order of a memory format."""
        if self._storage.device is META:
            return memory_format is None or not memory_format.order
        if memory_format is None or not memory_format.order:
            return bool(self._array.flags.c_contiguous)
        order = memory_format.order
        return self.ndim == len(order) and bool(self._array.transpose(order).flags.c_contiguous)

    def dim_order(self, *, ambiguity_check: object = False) -> tuple[int, ...]:
        """The dimensions from the one with the widest steps to that with the narrowest."""
        steps = self.stride()
        return tuple(sorted(range(self.ndim), key=lambda dim: -steps[dim]))

    def data_ptr(self) -> int:
        """Where the first element lies."""
        return address(_numbers(self))

    def is_set_to(self, tensor: Tensor) -> bool:
        """Whether both are the same numbers in the same memory."""
        return (self.data_ptr(), self.shape, self.stride()) == (tensor.data_ptr(), tensor.shape, tensor.stride())

    def untyped_storage(self) -> UntypedStorage:
        """The memory, shared with all views of it."""
        self._storage.expose()
        return UntypedStorage(_numbers(self), self._storage.device)

    @property
    def layout(self) -> layout:
        return strided

    # -- where

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

    # Other kinds of devices that PyTorch has.
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
        """The number of the GPU; −1 elsewhere."""
        index = self._storage.device.index
        return -1 if index is None else index

    def is_shared(self) -> bool:
        """Whether forked processes write to the same memory."""
        return self.is_cuda or (not self.is_meta and is_shared(_numbers(self)))

    def is_pinned(self, device: object = None) -> bool:
        """Whether a GPU can read the memory without a detour."""
        return not self.is_meta and not self.is_cuda and is_pinned(_numbers(self))

    # -- other memory

    def pin_memory(self, device: object = None) -> Tensor:
        """A copy in memory that a GPU reads without a detour. Raises DeviceError without CUDA."""
        if self.is_pinned():
            return cast("Tensor", self)
        if not self.is_cpu:
            raise DeviceError(f"pin_memory() is for tensors in main memory, not on {self._storage.device}")
        return _over(self, pinned(_numbers(self)))

    def share_memory_(self) -> Tensor:
        """Moves the numbers to memory that processes share which are forked from this one."""
        if self.is_cpu and not self.is_shared():
            self._array = shared_copy(_numbers(self))
            importlib.import_module("engine.tensors.sharing").refuse_copies(type(self))  # loads multiprocessing
        return cast("Tensor", self)

    def resize_(self, *sizes: Any, memory_format: object = None) -> Tensor:
        """Gives the tensor another shape, over the same memory; what is new in it has no meaning yet."""
        shape = tuple(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
        me = cast("Tensor", self)
        if me.requires_grad:
            raise AutogradError(
                "resize_() of a tensor that requires gradients.", in_code="Use detach() and resize that."
            )
        if self.is_meta:
            self._array = MetaArray(shape, self._array.dtype)
            return me
        flat, needed = _numbers(self).reshape(-1), count(shape)
        if flat.size < needed:
            with_room = namespace(self._storage.device).empty(needed, flat.dtype)
            with_room[: flat.size] = flat
            flat = with_room
        self._array = flat[:needed].reshape(shape)
        return me

    def resize_as_(self, the_template: Tensor) -> Tensor:
        """Gives the tensor the shape of another."""
        return self.resize_(tuple(the_template.shape))

    def set_(
        self,
        source: Tensor | UntypedStorage | None = None,
        storage_offset: int = 0,
        size: Sequence[int] | None = None,
        stride: Sequence[int] | None = None,
    ) -> Tensor:
        """Takes on memory and shape of `source`, or a part of its memory; without one, none."""
        me = cast("Tensor", self)
        if isinstance(source, UntypedStorage):
            source = _over(self, source._array.reshape(-1).view(np.uint8).view(self._array.dtype))
        if me.requires_grad and not me.is_leaf:
            raise AutogradError("set_() of a computed tensor would lose its history.", in_code="Use detach() first.")
        if source is None:
            self._array = _numbers(self).reshape(-1)[:0]
        elif source.dtype is not me.dtype:
            raise ShapeError(f"set_(): the source holds {source.dtype.name}, this tensor {me.dtype.name}")
        else:
            self._array, self._storage = _numbers(source), source._storage
            if size is not None:
                self._array = self._part(storage_offset, size, stride)
        return me

    def _part(self, offset: int, size: Sequence[int], stride: Sequence[int] | None) -> Any:
        """Elements of the memory from `offset` on, `stride` apart."""
        flat = whole(_numbers(self)).reshape(-1)[offset:]
        shape = tuple(size)
        steps = np.empty(shape, np.bool_).strides if stride is None else tuple(stride)
        reach = 1 + sum((n - 1) * step for n, step in zip(shape, steps, strict=True)) if all(shape) else 0
        if reach > flat.size:
            raise ShapeError(f"set_(): {format_shape(shape)} from element {offset} on goes beyond the memory")
        bytes_apart = tuple(step * self.itemsize for step in steps)
        return namespace(self._storage.device).lib.stride_tricks.as_strided(flat, shape, bytes_apart)

    def _wrapped_dim(self, dim: int) -> int:
        limit = max(self.ndim, 1)
        if not -limit <= dim < limit or not self.ndim:
            raise PositionError(f"there is no dimension {dim} in {format_shape(self.shape)}: it has {self.ndim}")
        return dim % limit


def _over(tensor: Any, array: np.ndarray[Any, Any]) -> Tensor:
    """A tensor like this one over other memory."""
    result = tensor.detach()
    result._array, result._storage = array, Storage(tensor._storage.device)
    return result


def _numbers(tensor: Any) -> Any:
    if tensor._storage.device is META:
        raise DeviceError(
            f"this {format_shape(tensor._array.shape)} tensor is on the meta device: it has a shape but no numbers"
        )
    return tensor._numbers()
