"""Base class of all layers and models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

from engine.backend import META, Device
from engine.compiler import compile_api
from engine.dtypes import DType, as_optional_dtype, bfloat16, float16, float32, float64
from engine.errors import DeviceError, ShapeError
from engine.modes import no_grad
from engine.nn import module_state
from engine.nn.module_hooks import GLOBAL_HOOKS, HasHooks, ModuleHooks, call
from engine.nn.module_members import ModuleMembers
from engine.nn.parameter import is_lazy
from engine.tensors import Tensor
from engine.tensors.creation import empty_like


class Module(HasHooks, ModuleMembers["Module"]):
    """Base class of layers and models: holds parameters, buffers and child modules, and computes in `forward`.

    Assigning a `Parameter` or a `Module` to an attribute registers it under that name; `register_buffer` registers
    tensors that are state but not trained. Names joined by dots are the keys of `state_dict`.
    """

    absent_in_old_files: frozenset[str] = frozenset()
    """Buffers that may be missing in weights of old versions; they keep their values when such weights are loaded."""

    def __init__(self) -> None:
        super().__init__()
        self.training = True
        self._hooks: ModuleHooks | None = None

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the output. Call the module instead of this method, because that runs the hooks."""
        raise NotImplementedError(f"{type(self).__name__} has no forward(). Define it in the class.")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            hooks = self._hooks
            if hooks is None and not GLOBAL_HOOKS.has_call_hooks:
                return self.forward(*args, **kwargs)
            return call(self, hooks, args, kwargs)
        except ShapeError as error:
            if not getattr(error, "__notes__", None):  # only the innermost module is named
                error.add_note(f"in {type(self).__name__}({self.extra_repr()})")
            raise

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile `forward` in place for later calls, with the arguments of `engine.compile`."""
        compiled = compile_api.compiled_of(self.forward)
        self.__dict__["forward"] = compile_api.compile(
            self.forward if compiled is None else compiled.function, *args, **kwargs
        )

    def replay_state(self) -> Iterator[tuple[str, dict[Any, Any], tuple[str, ...]]]:
        """State that replayed steps guard: names, dicts, and keys whose values may change."""
        yield "", self._parameters, ()
        yield "", self._buffers, ()
        yield "", self._modules, ()
        yield "", vars(self), ("_non_persistent_buffers_set",)
        for table in GLOBAL_HOOKS.call_hook_tables:
            yield "hooks of all modules", table, ()

    # -- modes, gradients

    def train(self, mode: bool = True) -> Self:
        """Set training mode (or evaluation mode) of this module and all submodules."""
        if not isinstance(mode, bool):
            raise ValueError(f"train(): mode must be True or False, not {mode!r}")
        self.training = mode
        for module in self.children():  # children may override train()
            module.train(mode)
        return self

    def eval(self) -> Self:
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Enable or disable gradients of all parameters; False freezes them."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients of all parameters: to None, or to zeros if `set_to_none` is false."""
        for parameter in self.parameters():
            if set_to_none or parameter.grad is None:
                parameter.grad = None
            else:
                parameter.grad = parameter.grad.detach().zero_()

    def apply(self, fn: Callable[[Module], Any]) -> Self:
        """Call `fn` on all submodules, children first, and then on this module."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    # -- device and dtype

    def to(
        self,
        target: Device | str | DType | Tensor | None = None,
        dtype: DType | bool | None = None,
        non_blocking: bool = False,
        *,
        device: Device | str | None = None,
        memory_format: object = None,
    ) -> Self:
        """Move all parameters and buffers to a device, and convert floating-point ones to a dtype, in place.

        Parameters keep their identity, so optimizers remain valid. `non_blocking` and `memory_format` have no effect.
        """
        if isinstance(dtype, bool):  # PyTorch's to(tensor, non_blocking) and to(dtype, non_blocking)
            dtype = None
        if isinstance(target, Tensor):
            device, dtype = target.device, target.dtype
        elif isinstance(target, (DType, type)):
            dtype = target
        elif target is not None:
            device = target
        dtype = as_optional_dtype("to", dtype)
        if dtype is not None and not dtype.is_floating_point:
            raise TypeError(f"a module can only be converted to a floating-point dtype, not to {dtype.name}")

        def move(tensor: Tensor) -> Tensor:
            if tensor.device is META and device is not None and Device(device) is not META:
                raise DeviceError(
                    "a module on the meta device has no data to move.",
                    in_code=f"Use to_empty(device={str(device)!r}) and then load weights or call reset_parameters().",
                )
            return tensor.to(device=device, dtype=dtype if tensor.dtype.is_floating_point else None)

        return self._apply(move)

    def to_empty(self, *, device: Device | str, recurse: bool = True) -> Self:
        """Move to `device` with uninitialized memory, for example from the meta device."""
        return self._apply(lambda tensor: empty_like(tensor, device=device), recurse=recurse)

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

    def bfloat16(self) -> Self:
        return self.to(bfloat16)

    def type(self, dst_type: DType | str) -> Self:
        """Convert floating-point parameters and buffers to a dtype."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def share_memory(self) -> Self:
        """Move parameters and buffers to memory that is shared with forked processes, in place."""
        return self._apply(lambda tensor: tensor.share_memory_())

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Apply `fn` to every parameter, gradient and buffer, in place."""
        memo: dict[int, Tensor] = {}
        with no_grad():
            for module in self.modules() if recurse else (self,):
                for parameter in module._parameters.values():
                    if parameter is not None and id(parameter) not in memo:
                        memo[id(parameter)] = parameter
                        gradient = parameter.grad
                        parameter.data = fn(parameter.data)
                        parameter.grad = None if gradient is None else fn(gradient)
                for name, buffer in module._buffers.items():
                    if is_lazy(buffer):
                        buffer.data = fn(buffer.data)
                    elif buffer is not None:
                        module._buffers[name] = memo.setdefault(id(buffer), fn(buffer))
        return self

    # -- state

    def state_dict(
        self, *, destination: dict[str, Any] | None = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Tensor]:
        """All parameters and persistent buffers by dotted name, sharing memory with the module.

        The tensors are detached unless `keep_vars` is set.
        """
        return module_state.collect(self, {} if destination is None else destination, prefix, keep_vars=keep_vars)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> module_state.IncompatibleKeys:
        """Copy the values of `state_dict` into the parameters and buffers.

        Args:
            state_dict: tensors or arrays by dotted name
            strict: raise an error for missing and unexpected keys, instead of returning them
            assign: use the given tensors, with their dtype and device, instead of copying their values

        Raises WeightsError, and changes nothing, if keys or shapes do not match.
        """
        return module_state.load(self, state_dict, strict=strict, assign=assign)

    def get_extra_state(self) -> Any:
        """State besides parameters and buffers, for `state_dict`. Override it together with `set_extra_state`."""
        raise NotImplementedError(f"{type(self).__name__} has no extra state: define get_extra_state()")

    def set_extra_state(self, state: Any) -> None:
        """Restore the value that `get_extra_state` returned."""
        raise NotImplementedError(f"{type(self).__name__} has no extra state: define set_extra_state()")

    @property
    def _has_extra_state(self) -> bool:
        return type(self).get_extra_state is not Module.get_extra_state

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        """Write the state of this module, without its children, to `destination`."""
        for name, tensor in module_state.own_tensors(self):
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if self._has_extra_state:
            destination[prefix + module_state.EXTRA] = self.get_extra_state()

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Override to change `state_dict` before loading, or to append to the lists of keys and errors."""

    # -- text

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """Text between the parentheses of the repr."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {_indented(repr(module))}" for name, module in self._modules.items()]
        if not children and len(lines) <= 1:
            return f"{self._get_name()}({extra})"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines + children) + "\n)"


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")
