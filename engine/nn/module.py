"""The base of all layers and models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

from engine.autograd import no_grad
from engine.backend import META, Device
from engine.creation import empty_like
from engine.dtypes import DType, float16, float32, float64
from engine.errors import DeviceError, ShapeError
from engine.nn import state
from engine.nn.hooks import ForwardHooks, Hook, RemovableHandle
from engine.nn.parameter import Parameter
from engine.tensor import Tensor


class Module:
    """A part of a model: holds parameters, buffers and further modules, and computes with them in `forward`.

    Assigning a `Parameter` or a `Module` to an attribute registers it under that name; `register_buffer` does it for
    tensors that are state but not trained. The names, joined by dots, are the keys of `state_dict`.
    """

    absent_in_old_files: frozenset[str] = frozenset()
    """Own buffers that weights written by old versions lack; loading such weights keeps their present values."""

    training: bool

    def __init__(self) -> None:
        # Straight into __dict__: __setattr__ needs the three tables to be there.
        self.__dict__.update(
            training=True, _parameters={}, _buffers={}, _modules={}, _unsaved=set[str](), _forward_hooks=None
        )

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes. Call the module itself, which also runs the hooks."""
        raise NotImplementedError(f"{type(self).__name__} has no forward(). Define it in the class.")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if self._forward_hooks is None:
                return self.forward(*args, **kwargs)
            return self._forward_hooks.call(self, args, kwargs)
        except ShapeError as error:
            if not getattr(error, "__notes__", None):  # the innermost module is the one to name
                error.add_note(f"in {type(self).__name__}({self.extra_repr()})")
            raise

    # -- registration

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Make `param` trainable under `name`; None keeps the name for one that may come later."""
        self._check_name(name, self._parameters, "parameter")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(f"parameter {name!r} must be an nn.Parameter or None, not {type(param).__name__}")
        if param is not None and not param.is_leaf:
            raise ValueError(
                f"parameter {name!r} is the result of an op. Register a leaf, and compute from it in forward."
            )
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Make `tensor` part of the module's state without training it; in `state_dict` only if `persistent`."""
        self._check_name(name, self._buffers, "buffer")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"buffer {name!r} must be a Tensor or None, not {type(tensor).__name__}")
        self._buffers[name] = tensor
        if persistent:
            self._unsaved.discard(name)
        else:
            self._unsaved.add(name)

    def register_module(self, name: str, module: Module | None) -> None:
        """Make `module` a child under `name`."""
        self._check_name(name, self._modules, "module")
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"module {name!r} must be an nn.Module or None, not {type(module).__name__}")
        self._modules[name] = module

    add_module = register_module

    def _check_name(self, name: Any, table: Mapping[str, Any], kind: str) -> None:
        if "_parameters" not in self.__dict__:
            raise AttributeError(f"cannot register {kind} {name!r} before super().__init__() has been called")
        if not isinstance(name, str):
            raise TypeError(f"the name of a {kind} must be a str, not {type(name).__name__}")
        if name == "" or "." in name:
            raise KeyError(f"{kind} name {name!r} must not be empty or contain a dot: dots separate nested modules")
        if name not in table and (name in self.__dict__ or hasattr(type(self), name) or name in self._taken()):
            raise KeyError(f"attribute {name!r} already exists in {type(self).__name__}")

    def _taken(self) -> Iterator[str]:
        for table in (self._parameters, self._buffers, self._modules):
            yield from table

    def __getattr__(self, name: str) -> Any:
        # Only reached for names that are not in __dict__ or the class. Layers get here in each forward, so no loop.
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
        elif isinstance(value, Module):
            self._replace(name, "_modules", self.register_module, value)
        elif (table := self._table_of(name)) is None:
            object.__setattr__(self, name, value)
        elif value is None or (table is self._buffers and isinstance(value, Tensor)):
            table[name] = value
        else:
            kind = (
                "a Tensor"
                if table is self._buffers
                else "an nn.Module"
                if table is self._modules
                else "an nn.Parameter"
            )
            raise TypeError(
                f"{type(self).__name__}.{name} must be {kind} or None, not {type(value).__name__}. "
                f"Delete the attribute first to give the name another meaning."
            )

    def _replace(self, name: str, table: str, register: Callable[[str, Any], None], value: Any) -> None:
        if "_parameters" not in self.__dict__:
            raise AttributeError(f"cannot assign {name!r} before super().__init__() has been called")
        if name not in self.__dict__[table]:
            self.__dict__.pop(name, None)
            self._forget(name)
        register(name, value)

    def _table_of(self, name: str) -> dict[str, Any] | None:
        attributes = self.__dict__
        for table in ("_parameters", "_modules", "_buffers"):
            if table in attributes and name in attributes[table]:
                return attributes[table]
        return None

    def _forget(self, name: str) -> bool:
        table = self._table_of(name)
        if table is None:
            return False
        del table[name]
        self._unsaved.discard(name)
        return True

    def __delattr__(self, name: str) -> None:
        if not self._forget(name):
            object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *self._taken()})

    # -- walks

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module and all below it, parents first, each with its dotted name; the module itself is ""."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self) -> Iterator[Module]:
        for _, module in self.named_modules():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        seen: set[Module] = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        for _, module in self.named_children():
            yield module

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Every parameter with its dotted name; shared ones once, unless `remove_duplicate` is False."""
        yield from self._named_members("_parameters", prefix, recurse=recurse, remove_duplicate=remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Every buffer with its dotted name."""
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

    def get_submodule(self, target: str) -> Module:
        """The module with the dotted name `target`; "" is this one. Raises AttributeError if there is none."""
        module = self
        for name in target.split(".") if target else ():
            if name not in module._modules or module._modules[name] is None:
                known = ", ".join(module._modules) or "none"
                raise AttributeError(
                    f"there is no module {target!r}: {type(module).__name__} has no {name!r}, only: {known}"
                )
            module = module._modules[name]
        return module

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

    # -- modes, gradients

    def train(self, mode: bool = True) -> Self:
        """Switch this module and all below it to training (dropout drops, batch norm measures) or to evaluation."""
        for module in self.modules():
            module.training = bool(mode)
        return self

    def eval(self) -> Self:
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Whether `backward` computes gradients of the parameters; False freezes them."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or set them to zero."""
        for parameter in self.parameters():
            if set_to_none or parameter.grad is None:
                parameter.grad = None
            else:
                parameter.grad = parameter.grad.detach().zero_()

    def apply(self, fn: Callable[[Module], Any]) -> Self:
        """Call `fn` with every module below this one, children first, and then with this one."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    # -- where and in which precision the tensors are

    def to(
        self,
        target: Device | str | DType | Tensor | None = None,
        dtype: DType | None = None,
        *,
        device: Device | str | None = None,
    ) -> Self:
        """Move all parameters and buffers to a device, and those that are floating-point to a dtype. In place.

        Parameters stay the same objects, so an optimizer that holds them goes on working.
        """
        if isinstance(target, Tensor):
            device, dtype = target.device, target.dtype
        elif isinstance(target, DType):
            dtype = target
        elif target is not None:
            device = target
        if dtype is not None and not dtype.is_floating_point:
            raise TypeError(f"a module can only be converted to a floating-point dtype, not to {dtype.name}")

        def move(tensor: Tensor) -> Tensor:
            if tensor.device is META and device is not None and Device(device) is not META:
                raise DeviceError(
                    "a module on the meta device has no numbers to move. "
                    f"Use to_empty(device={str(device)!r}) and then load weights or call reset_parameters()."
                )
            return tensor.to(device=device, dtype=dtype if tensor.dtype.is_floating_point else None)

        return self._convert(move)

    def to_empty(self, *, device: Device | str, recurse: bool = True) -> Self:
        """Move to `device` with uninitialised memory: the way from the meta device to a real one."""
        return self._convert(lambda tensor: empty_like(tensor, device=device), recurse=recurse)

    def cpu(self) -> Self:
        return self.to("cpu")

    def cuda(self, device: int | str | None = None) -> Self:
        return self.to(f"cuda:{device}" if isinstance(device, int) else device or "cuda")

    def half(self) -> Self:
        return self.to(float16)

    def float(self) -> Self:
        return self.to(float32)

    def double(self) -> Self:
        return self.to(float64)

    def _convert(self, function: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace what every parameter, gradient and buffer holds by what `function` makes of it."""
        memo: dict[int, Tensor] = {}
        with no_grad():
            for module in self.modules() if recurse else (self,):
                for parameter in module._parameters.values():
                    if parameter is not None and id(parameter) not in memo:
                        memo[id(parameter)] = parameter
                        gradient = parameter.grad
                        parameter.data = function(parameter.data)
                        parameter.grad = None if gradient is None else function(gradient)
                for name, buffer in module._buffers.items():
                    if buffer is not None:
                        module._buffers[name] = memo.setdefault(id(buffer), function(buffer))
        return self

    # -- state

    def state_dict(
        self, *, destination: dict[str, Any] | None = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Tensor]:
        """All parameters and persistent buffers by dotted name. They share memory with the module.

        With `keep_vars` they are the very parameters, otherwise detached from them.
        """
        return state.collect(self, {} if destination is None else destination, prefix, keep_vars=keep_vars)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> state.IncompatibleKeys:
        """Copy the values of `state_dict` into the parameters and buffers of the same names.

        Args:
            state_dict: tensors or arrays by dotted name
            strict: refuse missing and unexpected keys; otherwise they are only reported
            assign: take over the given tensors instead of copying, with their dtype and device

        Raises WeightsError, and changes nothing, if keys or shapes do not fit.
        """
        return state.load(self, state_dict, strict=strict, assign=assign)

    # -- hooks

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before each forward; what it returns, if anything, replaces the arguments."""
        hooks = self._hooks()
        return hooks.add(hooks.before, Hook(hook, with_kwargs), prepend=prepend)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args, output)`` after each forward; what it returns, if anything, replaces the output."""
        hooks = self._hooks()
        return hooks.add(hooks.after, Hook(hook, with_kwargs, always_call), prepend=prepend)

    def _hooks(self) -> ForwardHooks:
        if self._forward_hooks is None:
            self._forward_hooks = ForwardHooks()
        return self._forward_hooks

    # -- text

    def extra_repr(self) -> str:
        """What stands between the parentheses of the module's repr."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {_indented(repr(module))}" for name, module in self._modules.items()]
        if not children and len(lines) <= 1:
            return f"{type(self).__name__}({extra})"
        return f"{type(self).__name__}(\n  " + "\n  ".join(lines + children) + "\n)"


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")
