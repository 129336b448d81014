"""Parametrizations: parameters that are computed from other, trained parameters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from engine.errors import DTypeError, ShapeError
from engine.modes import no_grad
from engine.nn.containers.module_dict import ModuleDict
from engine.nn.containers.module_list import ModuleList
from engine.nn.module import Module
from engine.nn.parameter import Parameter
from engine.shape import format_shape
from engine.tensors import Tensor

_cache: dict[tuple[int, str], Any] = {}
_depth = 0


@contextmanager
def cached() -> Iterator[None]:
    """Context in which each parametrized tensor is computed once and cached."""
    global _depth
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1
        if not _depth:
            _cache.clear()


class ParametrizationList(ModuleList):
    """Parametrizations of one tensor, in order, and the trained tensor `original`.

    Parametrizations of several tensors, such as weight norm, have `original0`, `original1`, …
    """

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        super().__init__(modules)
        if not modules:
            raise ValueError("ParametrizationList requires at least one parametrization")
        self.unsafe = unsafe
        with no_grad():
            values = _inverse(list(modules), original)
        self.is_tensor = isinstance(values, Tensor)
        self.ntensors = 1 if self.is_tensor else len(values)
        for name, value in zip(self._names(), [values] if self.is_tensor else values, strict=True):
            if isinstance(original, Parameter):
                setattr(self, name, Parameter(value.detach(), original.requires_grad))
            else:
                self.register_buffer(name, value)
        if not unsafe:
            self.check(original)

    def _names(self) -> list[str]:
        return ["original"] if self.is_tensor else [f"original{number}" for number in range(self.ntensors)]

    def check(self, expected: Tensor) -> None:
        """Raise an error unless the result has the shape and dtype of `expected`."""
        with no_grad():
            found = self()
        if not isinstance(found, Tensor):
            raise TypeError(f"a parametrization must return a tensor, not {type(found).__name__}")
        if found.dtype is not expected.dtype:
            raise DTypeError(f"the parametrization changes the dtype from {expected.dtype.name} to {found.dtype.name}")
        if tuple(found.shape) != tuple(expected.shape):
            raise ShapeError(
                f"the parametrization changes the shape from {format_shape(expected.shape)} to "
                f"{format_shape(found.shape)}.",
                in_code="Pass unsafe=True if this is intended.",
            )

    def right_inverse(self, value: Tensor) -> None:
        """Set the trained tensors so that the result is `value`."""
        with no_grad():
            values = _inverse(list(self), value)
            for name, each in zip(self._names(), [values] if self.is_tensor else values, strict=True):
                original = getattr(self, name)
                if tuple(original.shape) != tuple(each.shape):
                    raise ShapeError(
                        f"{name} is {format_shape(original.shape)}, the new value requires {format_shape(each.shape)}"
                    )
                original.copy_(each)

    def forward(self) -> Any:
        first, *others = list(self)
        value = first(*[getattr(self, name) for name in self._names()])
        for module in others:
            value = module(value)
        return value


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Replace ``module.tensor_name`` by the result of `parametrization` of a trained tensor.

    With a `right_inverse` method, the tensor keeps its value and can be assigned. With `unsafe`, the parametrization
    may change shape and dtype. Further parametrizations are applied after existing ones.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        functions = module.parametrizations[tensor_name]
        value = getattr(module, tensor_name)
        functions.append(parametrization)
        if not unsafe:
            functions.check(value)
        functions.unsafe |= unsafe
        functions.right_inverse(value) if hasattr(parametrization, "right_inverse") else None
    elif tensor_name in module._parameters or tensor_name in module._buffers:
        original = getattr(module, tensor_name)
        functions = ParametrizationList([parametrization], original, unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _make_parametrized(module)
        _add_property(type(module), tensor_name)
        module.parametrizations[tensor_name] = functions
    else:
        raise ValueError(f"{type(module).__name__} has no parameter or buffer {tensor_name!r} to parametrize")
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether the tensor, or any tensor of the module, is parametrized."""
    functions = module._modules.get("parametrizations")
    if not isinstance(functions, ModuleDict):
        return False
    return len(functions) > 0 if tensor_name is None else tensor_name in functions


def type_before_parametrizations(module: Module) -> type:
    """Class of the module before its first parametrization."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Remove the parametrizations of ``module.tensor_name``, keeping the result or the original tensor."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"{type(module).__name__} has no parametrization of {tensor_name!r}")
    functions = module.parametrizations[tensor_name]
    if not leave_parametrized and not functions.is_tensor:
        raise ValueError("a tensor with several originals cannot be restored. Pass leave_parametrized=True.")
    trained = functions._names()[0] in functions._parameters
    with no_grad():
        value = (getattr(module, tensor_name) if leave_parametrized else functions.original).detach().clone()
    requires_grad = getattr(functions, functions._names()[0]).requires_grad
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if not len(module.parametrizations):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    if trained:
        module.register_parameter(tensor_name, Parameter(value, requires_grad))
    else:
        module.register_buffer(tensor_name, value)
    return module


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Copy the parametrizations and trained tensors of `from_module`, for one tensor or all, to `to_module`.

    Missing tensors are created. Returns `to_module`.
    """
    if is_parametrized(from_module):
        for name in [tensor_name] if tensor_name is not None else list(from_module.parametrizations):
            if not hasattr(to_module, name):
                setattr(to_module, name, Parameter(getattr(from_module, name).detach()))
            source = from_module.parametrizations[name]
            for function in source:
                register_parametrization(to_module, name, function)
            target = to_module.parametrizations[name]
            for original in source._names():
                setattr(target, original, getattr(source, original))
    return to_module


def _inverse(modules: list[Module], value: Tensor) -> Any:
    """Input of the first parametrization for which the last returns `value`."""
    input: Any = value
    for module in reversed(modules):
        if hasattr(module, "right_inverse"):
            input = module.right_inverse(input)
    return input


def _make_parametrized(module: Module) -> None:
    """Give the module a separate subclass, which can have properties."""
    kind = type(module)
    module.__class__ = type(f"Parametrized{kind.__name__}", (kind,), {"__module__": __name__})
    module.parametrizations = ModuleDict()


def _add_property(kind: type, name: str) -> None:
    def get(self: Module) -> Any:
        if not _depth:
            return self.parametrizations[name]()
        key = id(self), name
        if key not in _cache:
            _cache[key] = self.parametrizations[name]()
        return _cache[key]

    def set_(self: Module, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(kind, name, property(get, set_))


__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]
