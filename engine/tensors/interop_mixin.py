"""Conversion of tensors to Python and NumPy, DLPack, copying and pickling."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from engine import dtypes
from engine.backend import CPU, Device, MetaArray, to_host
from engine.errors import AutogradError, DTypeError, HostError, ShapeError, SharingError
from engine.modes import MODES
from engine.shape import format_shape
from engine.tensors.storage import Storage

if TYPE_CHECKING:
    from engine.tensors.methods import Tensor


class InteropMixin:
    """Base of Tensor: `numpy`, `item`, `tolist`, and the protocols of Python, NumPy and DLPack."""

    __slots__ = ()

    _array: Any
    _storage: Any

    # -- NumPy

    def numpy(self, *, force: bool = False) -> np.ndarray[Any, Any]:
        """Return the tensor as a NumPy array that shares its memory. `force` detaches, and copies from the GPU."""
        me = cast("Tensor", self)
        if force:
            self._storage.expose()
            return to_host(me.detach()._numbers())
        array = self._host_numbers()
        self._storage.expose()
        return array

    def _host_numbers(self) -> np.ndarray[Any, Any]:
        me = cast("Tensor", self)
        if me.requires_grad:
            raise AutogradError("numpy() on a tensor that requires gradients.", in_code="Use tensor.detach().numpy().")
        array = me._numbers()
        if self._storage.device is not CPU:
            raise HostError(f"numpy() on a tensor on {self._storage.device}.", in_code="Use tensor.cpu().numpy().")
        return array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = self._host_numbers() if copy else self.numpy()  # a copy need not be marked as shared
        return np.array(array, dtype=dtype, copy=copy)

    def _of_numpy(self, array: np.ndarray[Any, Any]) -> Tensor:
        """Convert an array operand of an operator to a tensor on this one's device."""
        found = _from_array(self, array)
        found._storage.expose()
        return found.to(self._storage.device)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """Wrap the array result of a NumPy function in a tensor."""
        return _from_array(self, np.asarray(array))

    # -- DLPack

    def __dlpack__(self, **options: Any) -> Any:
        me = cast("Tensor", self)
        if me.requires_grad:
            raise SharingError(
                "a tensor that requires gradients cannot be shared by DLPack.", in_code="Use tensor.detach()."
            )
        self._storage.expose()
        try:
            return me._numbers().__dlpack__(**options)
        except (BufferError, TypeError) as error:
            raise SharingError(f"{me.dtype.name} tensors cannot be shared by DLPack: {error}") from None

    def __dlpack_device__(self) -> tuple[Any, int]:
        return cast("Tensor", self)._numbers().__dlpack_device__()

    @property
    def __cuda_array_interface__(self) -> Any:
        if self._storage.device.type != "cuda":
            raise AttributeError("only tensors on a GPU have a CUDA array interface")
        return cast("Tensor", self).detach()._array.__cuda_array_interface__

    # -- Python

    def item(self) -> Any:
        """Return the only element as a Python number."""
        me = cast("Tensor", self)
        if me.numel() != 1:
            raise ShapeError(f"item() needs a tensor with one element; this one has shape {format_shape(me.shape)}")
        return me._numbers().item()

    def tolist(self) -> Any:
        """Return the elements as nested lists of Python numbers."""
        return cast("Tensor", self)._numbers().tolist()

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __index__(self) -> int:
        me = cast("Tensor", self)
        if me.dtype.is_floating_point or me.numel() != 1:
            raise TypeError("only integer tensors with one element can be used as an index")
        return int(self.item())

    def __bool__(self) -> bool:
        me = cast("Tensor", self)
        if me.numel() != 1:
            raise ShapeError(
                f"the truth value of a tensor with {me.numel()} elements is ambiguous.", in_code="Use .any() or .all()."
            )
        return bool(self.item())

    def __pos__(self) -> Tensor:
        return cast("Tensor", self)

    def __iter__(self) -> Any:
        me = cast("Tensor", self)
        if me.ndim == 0:
            raise TypeError("cannot iterate over a 0-dimensional tensor")
        if MODES.capture is not None:
            return MODES.capture.elements(me)
        return (me[index] for index in range(len(me)))

    def __reversed__(self) -> Tensor:
        me = cast("Tensor", self)
        return me.flip(0) if me.ndim else me

    def __contains__(self, value: Any) -> bool:
        me = cast("Tensor", self)
        if not isinstance(value, (bool, int, float, np.generic)) and not hasattr(value, "_storage"):
            raise DTypeError(f"the `in` operator of a tensor takes a number or a tensor, not {type(value).__name__}")
        return bool((me == value).any())

    def __hash__(self) -> int:
        return id(self)

    def __dir__(self) -> list[str]:
        return sorted(name for name in object.__dir__(self) if name.startswith("__") or not name.startswith("_"))

    # -- copies

    def __copy__(self) -> Tensor:
        me = cast("Tensor", self)
        other = type(me).__new__(type(me))
        for name in _FIELDS:
            setattr(other, name, getattr(me, name))
        other.__dict__.update(me.__dict__)
        return other

    def __deepcopy__(self, memo: dict[Any, Any]) -> Tensor:
        me = cast("Tensor", self)
        if not me.is_leaf:
            raise AutogradError("only leaves can be deep-copied.", in_code="Use detach() or clone().")
        other = me.__copy__()
        memo[id(me)] = other
        other._array = me._array if me.is_meta else me._numbers().copy()
        other._storage = Storage(me.device)
        other._base = other._view = other._hooks = None
        other._grad = None if me._grad is None else me._grad.__deepcopy__(memo)
        other.__dict__.update(copy.deepcopy(me.__dict__, memo))
        return other

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        me = cast("Tensor", self)
        if not me.is_leaf:
            raise AutogradError("only leaves can be pickled.", in_code="Use detach().")
        array = me._array if me.is_meta else me._numbers()
        numbers = tuple(array.shape) if me.is_meta else np.ascontiguousarray(to_host(array)).reshape(array.shape)
        return rebuild_tensor, (type(me), numbers, me.dtype, me.device, me.requires_grad, dict(me.__dict__))


_FIELDS = ("_array", "_base", "_grad", "_hooks", "_index", "_node", "_requires_grad", "_storage", "_view")


def rebuild_tensor(
    kind: type[Tensor], numbers: Any, dtype: Any, device: Device, requires_grad: bool, attributes: dict[str, Any]
) -> Tensor:
    """Return an unpickled tensor."""
    array = MetaArray(numbers, dtype.numpy) if isinstance(numbers, tuple) else numbers
    result = kind.__new__(kind)
    for name in _FIELDS:
        setattr(result, name, None)
    result._index, result._requires_grad = 0, requires_grad
    result._array, result._storage = array, Storage(Device("meta") if isinstance(numbers, tuple) else CPU)
    result.__dict__.update(attributes)
    if result.device is device:
        return result
    moved = result.detach().to(device)
    result._array, result._storage = moved._array, moved._storage
    return result


def _from_array(tensor: Any, array: np.ndarray[Any, Any]) -> Tensor:
    """Return a tensor from a NumPy array."""
    dtypes.from_numpy(array.dtype)
    result = tensor.detach()
    result._array, result._storage = array, Storage(CPU)
    return result
