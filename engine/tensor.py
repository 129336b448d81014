"""The tensor: a view over storage, with its place in the autograd graph. Its op methods come from the registry."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, cast

import numpy as np

from engine import autograd, dtypes
from engine.autograd import Edge, Handle, Node
from engine.backend import CPU, META, Device, MetaArray, namespace, resolve, to_host
from engine.dtypes import DType
from engine.errors import AutogradError, DeviceError, ShapeError
from engine.methods import TensorMethods
from engine.modes import MODES, enable_grad
from engine.ops import movement
from engine.printing import tensor_text
from engine.shape import Spec, count, format_shape


class Storage:
    """What views of one memory share: how often it was written to, and where it lives."""

    __slots__ = ("device", "version")

    def __init__(self, device: Device) -> None:
        self.device = device
        self.version = 0


class Size(tuple[Any, ...]):
    """A shape; prints as PyTorch's."""

    __slots__ = ()

    def numel(self) -> int:
        return count(self)

    def __repr__(self) -> str:
        return f"engine.Size([{', '.join(map(str, self))}])"


class Tensor(TensorMethods):
    """An n-dimensional array that autograd can follow. Create one with `engine.tensor`."""

    __slots__ = (
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
    __array_priority__ = 1000  # so that ndarray + Tensor asks Tensor

    def __init__(self, array: Any, storage: Storage | None = None, *, requires_grad: bool = False) -> None:
        self._array = array
        self._storage = storage or Storage(META if isinstance(array, MetaArray) else CPU)
        self._requires_grad = requires_grad
        self._node: Node | None = None
        self._index = 0
        self._grad: Tensor | None = None
        self._base: Tensor | None = None
        self._view: tuple[Any, ...] | None = None
        """For a view: the ops from the base to here, and the version of the base's history they were applied to."""
        self._hooks: list[Callable[[Tensor], Tensor | None]] | None = None

    # -- what it is

    @property
    def shape(self) -> Size:
        return Size(self._array.shape)

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self._array.shape[dim]

    @property
    def dtype(self) -> DType:
        return dtypes.from_numpy(self._array.dtype)

    @property
    def device(self) -> Device:
        return self._storage.device

    @property
    def ndim(self) -> int:
        return self._array.ndim

    def dim(self) -> int:
        return self._array.ndim

    def numel(self) -> Any:
        return count(self._array.shape)

    @property
    def itemsize(self) -> int:
        return self._array.dtype.itemsize

    @property
    def nbytes(self) -> Any:
        return self.numel() * self.itemsize

    @property
    def is_meta(self) -> bool:
        return self._storage.device is META

    @property
    def is_cuda(self) -> bool:
        return self.device.type == "cuda"

    def is_floating_point(self) -> bool:
        return self.dtype.is_floating_point

    def is_contiguous(self) -> bool:
        return self.is_meta or bool(self._array.flags.c_contiguous)

    def stride(self) -> tuple[int, ...]:
        return tuple(step // self.itemsize for step in self._numbers().strides)

    def data_ptr(self) -> int:
        array = self._numbers()
        return array.ctypes.data if isinstance(array, np.ndarray) else array.data.ptr

    @property
    def spec(self) -> Spec:
        return Spec(tuple(self._array.shape), self.dtype)

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError("len() of a 0-dimensional tensor")
        return self._array.shape[0]

    @property
    def data(self) -> Tensor:
        """The same numbers without history; autograd does not see what is written to it."""
        return Tensor(self._array, Storage(self.device))

    @data.setter
    def data(self, value: Tensor) -> None:
        self._array, self._storage = value._array, value._storage

    # -- autograd

    @property
    def requires_grad(self) -> bool:
        self._refresh()
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        if requires_grad and not self.is_floating_point():
            raise AutogradError(f"only floating-point tensors can require gradients, not {self.dtype.name}")
        if not self.is_leaf and not requires_grad:
            raise AutogradError(
                "requires_grad can only be turned off on leaves. Use detach() for a tensor without history."
            )
        self._requires_grad = requires_grad
        return self

    @property
    def grad_fn(self) -> Node | None:
        self._refresh()
        return self._node

    @property
    def is_leaf(self) -> bool:
        return self.grad_fn is None

    @property
    def grad(self) -> Tensor | None:
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            if not isinstance(value, Tensor):
                raise TypeError(f"grad must be a tensor or None, not {type(value).__name__}")
            if (value.spec, value.device) != (self.spec, self.device):
                raise ShapeError(
                    f"grad must be like its tensor: {self.spec} on {self.device}, not {value.spec} on {value.device}"
                )
        self._grad = value

    @property
    def edge(self) -> Edge:
        """Where this tensor's gradient goes; None if nobody wants one."""
        self._refresh()
        if not self._requires_grad:
            return None
        return (self, 0) if self._node is None else (self._node, self._index)

    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Sequence[Tensor] | None = None,
    ) -> None:
        """Adds the gradient of this tensor with respect to every leaf to the leaf's `.grad`."""
        edge = self.edge
        if edge is None:
            raise AutogradError(
                "backward() on a tensor that does not require gradients: no leaf with requires_grad=True leads to it."
            )
        keep = create_graph if retain_graph is None else retain_graph
        root = [(edge, _seed(self, gradient))]
        observer = MODES.observer.gradient if MODES.observer is not None else None
        if inputs is None:
            autograd.run_backward(root, retain_graph=keep, create_graph=create_graph, observer=observer)
            return
        edges: list[Any] = [tensor.edge for tensor in inputs]
        if None in edges:
            raise AutogradError(
                f"backward(): input {edges.index(None)} does not require gradients. Call requires_grad_() on it first."
            )
        grads = autograd.run_backward(
            root, retain_graph=keep, create_graph=create_graph, inputs=edges, observer=observer
        )
        for tensor, grad in zip(inputs, grads, strict=True):
            if grad is not None:
                tensor._accumulate(grad, copy=True)

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> Handle:
        """Calls `hook(gradient)` when the gradient is known; what it returns, if anything, takes its place."""
        if not self.requires_grad:
            raise AutogradError("a hook needs a tensor that requires gradients. Call requires_grad_() first.")
        if self._node is not None:
            return self._node.add_hook(self._index, hook)
        if self._hooks is None:
            self._hooks = []
        self._hooks.append(hook)
        return Handle(self._hooks, hook)

    def retain_grad(self) -> None:
        """Keeps the gradient of a tensor that is no leaf in `.grad`."""
        if not self.requires_grad:
            raise AutogradError("retain_grad() needs a tensor that requires gradients. Call requires_grad_() first.")
        node, me = self._node, weakref.ref(self)
        if node is None or any(last and index == self._index for index, _, last in node.hooks or ()):
            return

        def keep(gradient: Tensor) -> None:
            tensor = me()
            if tensor is not None:
                tensor._accumulate(gradient, copy=True)

        node.add_hook(self._index, keep, last=True)

    def detach(self) -> Tensor:
        """The same numbers in the same memory, without history."""
        return Tensor(self._array, self._storage)

    def _with_history(self, node: Node, index: int) -> Tensor:
        tensor = Tensor(self._array, self._storage, requires_grad=True)
        tensor._node, tensor._index = node, index
        return tensor

    def _accumulate(self, gradient: Tensor, *, copy: bool) -> None:
        """Adds to `.grad`. Without `copy`, a gradient that is no view of something else is kept as it is."""
        if self._grad is None:
            self._grad = gradient.clone() if copy or not gradient._owns_memory else gradient
        elif gradient._requires_grad or self._grad._requires_grad:
            self._grad = self._grad + gradient
        else:
            self._grad.add_(gradient)

    @property
    def _owns_memory(self) -> bool:
        return self.is_meta or (self._base is None and self._array.base is None and self._array.flags.c_contiguous)

    def _refresh(self) -> None:
        """Applies the view's ops again if the base got new history by an in-place write."""
        if self._view is not None:
            chain, seen = self._view
            base = cast(Tensor, self._base)
            if base._node is not seen:
                current: Any = base
                with enable_grad():
                    for op, statics in chain:
                        current = op(current, **statics)
                self._node, self._index, self._requires_grad = current._node, current._index, current._requires_grad
                self._view = (chain, base._node)

    # -- NumPy and Python

    def numpy(self) -> np.ndarray[Any, Any]:
        """The numbers as a NumPy array that shares memory."""
        if self.requires_grad:
            raise AutogradError("numpy() on a tensor that requires gradients. Use tensor.detach().numpy().")
        array = self._numbers()
        if self._storage.device is not CPU:
            raise DeviceError(f"numpy() on a tensor on {self.device}. Use tensor.cpu().numpy().")
        return array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.numpy(), dtype=dtype, copy=copy)

    def item(self) -> Any:
        if self.numel() != 1:
            raise ShapeError(f"item() needs a tensor of one element, this one is {format_shape(self.shape)}")
        return self._numbers().item()

    def tolist(self) -> Any:
        return self._numbers().tolist()

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if self.dtype.is_floating_point:
            raise TypeError("only whole-number tensors of one element can be an index")
        return int(self.item())

    def __bool__(self) -> bool:
        if self.numel() != 1:
            raise ShapeError(
                f"the truth of a tensor of {self.numel()} elements is not one value. Use .any() or .all()."
            )
        return bool(self.item())

    def __iter__(self) -> Any:
        return (self[index] for index in range(len(self)))

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())

    def __hash__(self) -> int:
        return id(self)

    def _numbers(self) -> Any:
        if self.is_meta:
            self._no_numbers()
        return self._array

    def _no_numbers(self) -> NoReturn:
        raise DeviceError(
            f"this {format_shape(self.shape)} tensor is on the meta device: it has a shape but no numbers"
        )

    # -- dtype and device

    def to(
        self, *args: Any, dtype: DType | None = None, device: Device | str | None = None, copy: bool = False
    ) -> Tensor:
        """This tensor with another dtype, on another device, or like another tensor. Itself if nothing changes."""
        for argument in args:
            if isinstance(argument, DType):
                dtype = argument
            elif isinstance(argument, Tensor):
                dtype, device = argument.dtype, argument.device
            else:
                device = argument
        result = self
        if device is not None and resolve(device) is not self.device:
            result = result._move(resolve(device))
        if dtype is not None and dtype is not result.dtype:
            result = movement.cast(result, dtype=dtype)
        return result.clone() if copy and result is self else result

    def cpu(self) -> Tensor:
        return self.to(CPU)

    def cuda(self, device: Device | str = "cuda") -> Tensor:
        return self.to(device)

    def float(self) -> Tensor:
        return self.to(dtypes.float32)

    def double(self) -> Tensor:
        return self.to(dtypes.float64)

    def half(self) -> Tensor:
        return self.to(dtypes.float16)

    def long(self) -> Tensor:
        return self.to(dtypes.int64)

    def int(self) -> Tensor:
        return self.to(dtypes.int32)

    def bool(self) -> Tensor:
        return self.to(dtypes.bool_)

    @property
    def T(self) -> Tensor:
        """The dimensions in reverse order."""
        return movement.permute(self, tuple(reversed(range(self.ndim))))

    @property
    def mT(self) -> Tensor:
        """The last two dimensions exchanged."""
        return movement.transpose(self, -2, -1)

    def new_tensor(self, data: Any) -> Tensor:
        """`data` as a tensor of this one's dtype and device."""
        array = np.array(data, dtype=self.dtype.numpy)
        if self.is_meta:
            return Tensor(MetaArray(array.shape, array.dtype))
        return Tensor(namespace(self.device).asarray(array), Storage(self.device))

    def new_empty(self, *size: Any) -> Tensor:
        """Memory of this one's dtype and device."""
        return self._new("empty", size)

    def new_zeros(self, *size: Any) -> Tensor:
        """Zeros of this one's dtype and device."""
        return self._new("zeros", size)

    def new_ones(self, *size: Any) -> Tensor:
        """Ones of this one's dtype and device."""
        return self._new("ones", size)

    def new_full(self, size: Sequence[Any], fill_value: Any) -> Tensor:
        """One value, in this one's dtype and device."""
        return self._new("empty", (tuple(size),)).fill_(fill_value)

    def _new(self, kind: str, size: tuple[Any, ...]) -> Tensor:
        shape = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
        if self.is_meta:
            return Tensor(MetaArray(shape, self._array.dtype))
        return Tensor(getattr(namespace(self.device), kind)(shape, self._array.dtype), Storage(self.device))

    # -- in-place writes that are not variants of an op

    def copy_(self, source: Tensor | float) -> Tensor:
        """Takes over the numbers of `source`, broadcast and converted."""
        tensor = source if isinstance(source, Tensor) else self.new_tensor(source)
        return self.assign_(tensor.to(dtype=self.dtype, device=self.device))

    def fill_(self, value: float | Tensor) -> Tensor:
        """Sets every element to `value`."""
        return self.copy_(value)

    def zero_(self) -> Tensor:
        """Sets every element to 0."""
        return self.fill_(0)

    def type_as(self, other: Tensor) -> Tensor:
        return self.to(other.dtype)

    def __repr__(self) -> str:
        return _format(self)

    def __format__(self, spec: str) -> str:
        """A single number as a number: ``f"{loss:.4f}"``."""
        return format(self.item(), spec) if self.ndim == 0 and not self.is_meta else format(repr(self), spec)

    def __deepcopy__(self, memo: dict[Any, Any]) -> Tensor:
        if not self.is_leaf:
            raise AutogradError("only leaves can be deep-copied. Use detach() or clone().")
        array = self._array if self.is_meta else self._array.copy()
        copy = Tensor.__new__(type(self))
        Tensor.__init__(copy, array, Storage(self.device), requires_grad=self._requires_grad)
        copy._grad = None if self._grad is None else self._grad.__deepcopy__(memo)
        memo[id(self)] = copy
        return copy


def _seed(tensor: Tensor, gradient: Tensor | None) -> Tensor:
    """The gradient that a backward pass starts with."""
    if gradient is not None:
        if tuple(gradient.shape) != tuple(tensor.shape):
            raise ShapeError(
                f"gradient is {format_shape(gradient.shape)}, but the tensor is {format_shape(tensor.shape)}"
            )
        return gradient
    if tensor.numel() != 1:
        raise AutogradError(
            f"backward() of a {format_shape(tensor.shape)} tensor needs a gradient of that shape. "
            "Reduce it first, for instance with .sum() or .mean(), or pass gradient=."
        )
    if tensor.is_meta:
        return Tensor(tensor._array)
    return Tensor(namespace(tensor.device).ones(tensor._array.shape, tensor._array.dtype), Storage(tensor.device))


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
        suffixes.append(f"grad_fn=<{tensor.grad_fn.name}>")
    elif tensor.requires_grad:
        suffixes.append("requires_grad=True")
    if tensor.is_meta:
        return f"tensor(..., {', '.join(suffixes)})"
    return tensor_text(to_host(tensor._array), suffixes)
