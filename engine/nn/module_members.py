"""Registration and traversal of a module's parameters, buffers and child modules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar, cast

from engine.nn.module_hooks import run_registration_hooks
from engine.nn.parameter import Buffer, Parameter
from engine.tensors import Tensor

M = TypeVar("M", bound="ModuleMembers[Any]")
"""Type of child modules: `Module`, which derives from the class below."""


class ModuleMembers(Generic[M]):
    """Base of `Module` that registers assigned attributes and traverses them."""

    def __init__(self) -> None:
        # Written to __dict__ directly, because __setattr__ requires the three tables.
        self.__dict__.update(_parameters={}, _buffers={}, _modules={}, _non_persistent_buffers_set=set[str]())

    # -- registration

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Register a parameter; None reserves the name."""
        self._check_name(name, self._parameters, "parameter")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(f"parameter {name!r} must be an nn.Parameter or None, not {type(param).__name__}")
        if param is not None and not param.is_leaf:
            raise ValueError(
                f"parameter {name!r} is not a leaf tensor. Register a leaf, and compute from it in forward."
            )
        self._parameters[name] = run_registration_hooks("parameter", self, name, param)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Register a tensor that is not trained; it is part of `state_dict` if `persistent`."""
        self._check_name(name, self._buffers, "buffer")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"buffer {name!r} must be a Tensor or None, not {type(tensor).__name__}")
        self._buffers[name] = run_registration_hooks("buffer", self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_module(self, name: str, module: M | None) -> None:
        """Register a child module."""
        self._check_name(name, self._modules, "module")
        if module is not None and not isinstance(module, ModuleMembers):
            raise TypeError(f"module {name!r} must be an nn.Module or None, not {type(module).__name__}")
        self._set_module(name, module)

    def _set_module(self, name: str, module: Any) -> None:
        """Register an assigned module; unlike in `register_module`, the name may be that of a method, as in PyTorch."""
        self._modules[name] = run_registration_hooks("module", self, name, module)

    add_module = register_module

    def _check_name(self, name: Any, table: Mapping[str, Any], kind: str) -> None:
        if "_parameters" not in self.__dict__:
            raise AttributeError(f"cannot register {kind} {name!r} before super().__init__() has been called")
        if not isinstance(name, str):
            raise TypeError(f"the name of a {kind} must be a str, not {type(name).__name__}")
        if name == "" or "." in name:
            raise KeyError(f"{kind} name {name!r} must not be empty or contain a dot: dots separate nested modules")
        if name not in table and (
            name in self.__dict__ or hasattr(type(self), name) or name in self._registered_names()
        ):
            raise KeyError(f"attribute {name!r} already exists in {type(self).__name__}")

    def _registered_names(self) -> Iterator[str]:
        for table in (self._parameters, self._buffers, self._modules):
            yield from table

    def __getattr__(self, name: str) -> Any:
        # Called for names that are not in __dict__ or the class. On the hot path of every forward, so no loop.
        attributes = self.__dict__
        if "_parameters" in attributes:
            if name in (table := attributes["_parameters"]):
                return table[name]
            if name in (table := attributes["_modules"]):
                return table[name]
            if name in (table := attributes["_buffers"]):
                return table[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Parameter):
            self._replace(name, "_parameters", self.register_parameter, value)
        elif isinstance(value, ModuleMembers):
            self._replace(name, "_modules", self._set_module, value)
        elif isinstance(value, Buffer):
            self._replace(name, "_buffers", lambda key, one: self.register_buffer(key, one, one.persistent), value)
        elif (table := self._table_of(name)) is None:
            object.__setattr__(self, name, value)
        elif value is None or (table is self._buffers and isinstance(value, Tensor)):
            table[name] = value
        else:
            kinds = {"a Tensor": self._buffers, "an nn.Module": self._modules, "an nn.Parameter": self._parameters}
            kind = next(kind for kind, members in kinds.items() if members is table)
            raise TypeError(
                f"{type(self).__name__}.{name} must be {kind} or None, not {type(value).__name__}. "
                f"Delete the attribute first to assign another type."
            )

    def _replace(self, name: str, table: str, register: Callable[[str, Any], None], value: Any) -> None:
        if "_parameters" not in self.__dict__:
            raise AttributeError(f"cannot assign {name!r} before super().__init__() has been called")
        if name not in self.__dict__[table]:
            self.__dict__.pop(name, None)
            self._remove_member(name)
        register(name, value)

    def _table_of(self, name: str) -> dict[str, Any] | None:
        attributes = self.__dict__
        for table in ("_parameters", "_modules", "_buffers"):
            if table in attributes and name in attributes[table]:
                return attributes[table]
        return None

    def _remove_member(self, name: str) -> bool:
        table = self._table_of(name)
        if table is None:
            return False
        del table[name]
        self._non_persistent_buffers_set.discard(name)
        return True

    def __delattr__(self, name: str) -> None:
        if not self._remove_member(name):
            object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *self._registered_names()})

    # -- traversal

    def named_modules(
        self, memo: set[M] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, M]]:
        """This module and all submodules with their dotted names, parents first; the module itself is ""."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        me = cast(M, self)
        if remove_duplicate:
            memo.add(me)
        yield prefix, me
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self) -> Iterator[M]:
        for _, module in self.named_modules():
            yield module

    def named_children(self) -> Iterator[tuple[str, M]]:
        seen: set[M] = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[M]:
        for _, module in self.named_children():
            yield module

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """All parameters with their dotted names; shared parameters once, unless `remove_duplicate` is false."""
        yield from self._named_members("_parameters", prefix, recurse=recurse, remove_duplicate=remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """All buffers with their dotted names."""
        yield from self._named_members("_buffers", prefix, recurse=recurse, remove_duplicate=remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def _named_members(
        self, table: str, prefix: str, *, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        modules = self.named_modules(None, prefix, remove_duplicate) if recurse else [(prefix, self)]
        seen: set[int] = set()
        for path, module in modules:
            for name, tensor in module.__dict__[table].items():
                if tensor is None or id(tensor) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(tensor))
                yield f"{path}.{name}" if path else name, tensor

    def get_submodule(self, target: str) -> M:
        """Submodule with the dotted name `target`; "" is this module. Raises AttributeError if it does not exist."""
        module = cast(M, self)
        for name in target.split(".") if target else ():
            if name not in module._modules or module._modules[name] is None:
                known = ", ".join(module._modules) or "none"
                raise AttributeError(
                    f"module {target!r} does not exist: {type(module).__name__} has no {name!r}, only: {known}"
                )
            module = module._modules[name]
        return module

    def set_submodule(self, target: str, module: M, strict: bool = False) -> None:
        """Replace the submodule with the dotted name `target`; `strict` requires that it exists."""
        path, _, name = target.rpartition(".")
        if not name:
            raise ValueError("set_submodule requires a non-empty target, because a module cannot replace itself")
        if not isinstance(module, ModuleMembers):
            raise ValueError(f"module {target!r} must be an nn.Module, not {type(module).__name__}")
        parent = self.get_submodule(path)
        if strict and name not in parent._modules:
            raise AttributeError(f"{type(parent).__name__} has no module {name!r} to replace")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        path, _, name = target.rpartition(".")
        return self.get_submodule(path)._member("_parameters", name)

    def get_buffer(self, target: str) -> Tensor:
        path, _, name = target.rpartition(".")
        return self.get_submodule(path)._member("_buffers", name)

    def _member(self, table: str, name: str) -> Any:
        found = self.__dict__[table].get(name)
        if found is None:
            raise AttributeError(f"{type(self).__name__} has no {table[1:-1]} {name!r}")
        return found
