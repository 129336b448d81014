"""Parameters and buffers, which register when they are assigned to a module."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar, TypeGuard

from engine.dtypes import DType
from engine.errors import ShapeError
from engine.tensors import Tensor
from engine.tensors.creation import empty
from engine.tensors.deferred import adopt


class Parameter(Tensor):
    """Leaf tensor that is registered as a parameter when it is assigned to an attribute of a module.

    Shares memory with `data`. Results of ops are plain tensors.

    Args:
        data: values (default: an empty tensor)
        requires_grad: compute gradients in `backward`
    """

    def __init__(self, data: Tensor | None = None, requires_grad: bool = True) -> None:
        data = empty(0) if data is None else data
        super().__init__(data._array, data._storage)
        adopt(self)
        self.requires_grad_(requires_grad)

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"


class Buffer(Tensor):
    """Tensor that is registered as a buffer when it is assigned to an attribute of a module.

    Args:
        data: values (default: an empty tensor)
        persistent: include the buffer in `state_dict`
    """

    __slots__ = ("persistent",)

    def __init__(self, data: Tensor | None = None, *, persistent: bool = True) -> None:
        data = empty(0) if data is None else data
        super().__init__(data._array, data._storage)
        adopt(self)
        self.persistent = persistent


# -- lazy parameters ----------------------------------------------------------------------------


class UninitializedTensorMixin:
    """Base of lazy tensors, which have a dtype and a device but no shape until the first input."""

    __slots__ = ()

    cls_to_become: ClassVar[type[Tensor]]
    """Class of the tensor after `materialize`."""

    def __init__(self, requires_grad: bool = False, device: Any = None, dtype: Any = None) -> None:
        data = empty(0, device=device, dtype=dtype)
        Tensor.__init__(self, data._array, data._storage)  # pyright: ignore[reportArgumentType]
        self._requires_grad = requires_grad

    @property
    def _array(self) -> Any:
        raise ShapeError(
            "this tensor of a lazy layer has no shape and no data yet. Call the model on a batch first, "
            "and then use its parameters."
        )

    @_array.setter
    def _array(self, value: Any) -> None:
        _ARRAY.__set__(self, value)

    @property
    def _empty(self) -> Tensor:
        """Empty tensor with the same dtype and device."""
        return Tensor(_ARRAY.__get__(self), self._storage)  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def dtype(self) -> DType:
        return self._empty.dtype

    @property
    def data(self) -> Any:
        return self._empty

    @data.setter
    def data(self, value: Tensor) -> None:
        _ARRAY.__set__(self, value._array)
        self._storage = value._storage

    def detach(self) -> Any:
        return self

    def is_floating_point(self) -> bool:
        return self.dtype.is_floating_point

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Allocate an uninitialized tensor of `shape` in place; dtype and device stay the same unless given."""
        placeholder, requires_grad = self._empty, self._requires_grad
        tensor = empty(shape, device=placeholder.device if device is None else device, dtype=dtype or placeholder.dtype)
        self.__class__ = self.cls_to_become  # pyright: ignore[reportAttributeAccessIssue]
        Tensor.__init__(self, tensor._array, tensor._storage, requires_grad=requires_grad)  # pyright: ignore[reportArgumentType]

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        placeholder = self._empty
        copy = memo[id(self)] = type(self)(self._requires_grad, placeholder.device, placeholder.dtype)
        return copy

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """Parameter without a shape; `materialize(shape)` converts it to a `Parameter` in place.

    Args:
        requires_grad: compute gradients in `backward`
        device: device after `materialize`
        dtype: dtype after `materialize`
    """

    cls_to_become = Parameter

    def __init__(self, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> None:
        UninitializedTensorMixin.__init__(self, requires_grad, device, dtype)


class UninitializedBuffer(UninitializedTensorMixin, Buffer):
    """Buffer without a shape; see `UninitializedParameter`.

    Args:
        requires_grad: compute gradients in `backward`
        device: device after `materialize`
        dtype: dtype after `materialize`
        persistent: include the buffer in `state_dict`
    """

    __slots__ = ()
    cls_to_become = Buffer

    def __init__(
        self, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> None:
        UninitializedTensorMixin.__init__(self, requires_grad, device, dtype)
        self.persistent = persistent


def is_lazy(param: Any) -> TypeGuard[UninitializedParameter | UninitializedBuffer]:
    """Whether a parameter or buffer has no shape yet."""
    return isinstance(param, UninitializedTensorMixin)


_ARRAY: Any = inspect.getattr_static(Tensor, "_array")
"""Slot of a tensor's array, which lazy tensors hide."""
