"""Tensor methods and operators from the op registry. `methods.pyi` is generated from it (scripts/stubs.py)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from engine.errors import AutogradError, DTypeError, RegistryError, ShapeError
from engine.modes import MODES
from engine.ops.composite import COMPOSITES
from engine.ops.op_executor import OP_EXECUTOR
from engine.ops.record import AUGMENTED, Op, find_overload, is_reflected, operators
from engine.ops.static_arguments import freeze_statics
from engine.shape import Dim, format_shape


class TensorMethods:
    """Base of Tensor. `install` adds a method for each op and Python operator."""

    __slots__ = ()


def install(cls: type, run_in_place: Callable[..., Any], others: Mapping[str, Callable[..., Any]]) -> None:
    """Add every op to `cls` as a method, in-place method and operator, and add the functions in `others`."""
    for op in operators():
        for name in op.operators:
            swaps = is_reflected(name) and not op.commutes
            setattr(TensorMethods, name, op.function if len(op.inputs) == 1 else _operator(op, swaps))
        for name in (op.name, *op.aliases) if op.method else ():
            _add(cls, name, op.function)
            if op.in_place:
                _add(cls, f"{name}_", _in_place_variant(op, run_in_place))
        if op.kind == "elementwise":
            for name in op.operators:
                if not is_reflected(name) and name.strip("_") in AUGMENTED:
                    setattr(TensorMethods, f"__i{name.strip('_')}__", _augmented(op, run_in_place))
    for composite in COMPOSITES.values():
        for name in composite.operators:
            setattr(TensorMethods, name, composite.function)
        for name in (composite.name, *composite.aliases):
            if composite.method:
                _add(cls, name, composite.function)
            if composite.in_place:
                make = _view_variant if composite.in_place == "view" else _copying_variant
                _add(cls, f"{name}_", make(composite.name, composite.function))
    for name, function in others.items():
        _add(cls, name, function)


def _add(cls: type, name: str, function: Callable[..., Any]) -> None:
    if name in vars(cls):
        raise RegistryError(f"Tensor.{name} is defined as a function and as an op. Remove one of them.")
    setattr(TensorMethods, name, function)


def _operator(op: Op, swaps: bool) -> Callable[..., Any]:
    """Return the binary operator for `op`. It returns NotImplemented for other types, as Python requires."""
    executor, statics = OP_EXECUTOR, op.defaults

    def operate(self: Any, other: Any) -> Any:
        if not isinstance(other, _OPERANDS):
            if not isinstance(other, np.ndarray):
                return NotImplemented
            other = self._of_numpy(other)
        return executor.run(op, (other, self) if swaps else (self, other), statics)

    return operate


_OPERANDS = (TensorMethods, bool, int, float, Dim, np.generic)


def _augmented(op: Op, run_in_place: Callable[..., Any]) -> Callable[..., Any]:
    """Return the augmented assignment operator (`x += y`) for `op`."""

    def operate(self: Any, other: Any) -> Any:
        return run_in_place(op, (self, self._of_numpy(other) if isinstance(other, np.ndarray) else other), op.defaults)

    return operate


def _in_place_variant(op: Op, run_in_place: Callable[..., Any]) -> Callable[..., Any]:
    """Return the in-place variant of an op."""
    if op.kind == "elementwise":
        return _elementwise_variant(op, run_in_place)
    return _view_variant(op.name, op.function) if op.view else _copying_variant(op.name, op.function)


def _elementwise_variant(op: Op, run_in_place: Callable[..., Any]) -> Callable[..., Any]:
    arity, plain, bind, defaults = op.arity, op.has_all_defaults, op.bind, op.defaults
    has_statics = frozenset(op.static_names).issuperset

    def in_place(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            if plain and len(args) == arity and has_statics(kwargs):
                return run_in_place(op, args, {**defaults, **freeze_statics(kwargs)})
            if ("out" in kwargs or op.keyword_overloads) and (found := find_overload(op, kwargs)):
                return _copying_variant(op.name, found)(*args, **kwargs)
        elif plain and len(args) == arity:
            return run_in_place(op, args, defaults)
        inputs, statics = bind(args, kwargs)
        return run_in_place(op, inputs, statics if statics is defaults else freeze_statics(statics))

    in_place.__name__ = in_place.__qualname__ = f"{op.name}_"
    in_place.__doc__ = f"In-place version of `{op.name}`."
    return in_place


def _copying_variant(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the in-place variant of a composite op, which copies its result and grad_fn into the tensor."""

    def in_place(self: Any, *args: Any, **kwargs: Any) -> Any:
        # The write must not change values that the gradient needs.
        result = function(self.clone() if self.requires_grad else self, *args, **kwargs)
        if result.dtype.kind > self.dtype.kind:
            raise DTypeError(
                f"{name}_() cannot write its {result.dtype.name} result into a {self.dtype.name} tensor. "
                "Convert it first."
            )
        if tuple(result.shape) != tuple(self.shape):
            raise ShapeError(
                f"{name}_(): the result is {format_shape(result.shape)}, but the tensor is {format_shape(self.shape)}"
            )
        return self.copy_(result)

    in_place.__name__ = in_place.__qualname__ = f"{name}_"
    in_place.__doc__ = f"In-place version of `{name}`."
    return in_place


def _view_variant(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the in-place variant of a view op: the tensor becomes the view."""

    def in_place(self: Any, *args: Any, **kwargs: Any) -> Any:
        if MODES.grad and (_is_leaf(self) or (self._base is not None and _is_leaf(self._base))):
            raise AutogradError(
                f"{name}_() on a leaf that requires gradients, or on a view of one.",
                in_code=f"Do it inside no_grad(), or use {name}() for a new tensor.",
            )
        original = self.detach()
        for part in _HISTORY:
            setattr(original, part, getattr(self, part))
        result = function(original, *args, **kwargs)
        if result is not original:
            for part in ("_array", *_HISTORY) if MODES.grad else ("_array",):
                setattr(self, part, getattr(result, part))
        return self

    in_place.__name__ = in_place.__qualname__ = f"{name}_"
    in_place.__doc__ = f"In-place version of `{name}`."
    return in_place


def _is_leaf(tensor: Any) -> bool:
    return tensor._node is None and tensor._requires_grad


_HISTORY = ("_base", "_index", "_node", "_requires_grad", "_view")
"""Attributes that describe how a tensor was computed."""
