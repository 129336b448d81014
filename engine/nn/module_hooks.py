"""Module hooks: forward, backward, state_dict, load_state_dict and registration."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from engine.graph import RemovableHandle
from engine.nn.backward_hooks import BackwardHooks


@dataclass(frozen=True, slots=True)
class Hook:
    function: Callable[..., Any]
    with_kwargs: bool = False
    always_call: bool = False
    """Run even if the forward pass raises an error."""


@dataclass(frozen=True, slots=True)
class ModuleHooks:
    """Hooks of one module or of all modules, each kind in the order in which they run."""

    forward_pre: dict[int, Hook] = field(default_factory=dict)
    forward: dict[int, Hook] = field(default_factory=dict)
    backward_pre: dict[int, Callable[..., Any]] = field(default_factory=dict)
    backward: dict[int, Callable[..., Any]] = field(default_factory=dict)
    state_dict_pre: dict[int, Callable[..., Any]] = field(default_factory=dict)
    """Called before `state_dict` reads the module."""
    state_dict_post: dict[int, Callable[..., Any]] = field(default_factory=dict)
    load_state_dict_pre: dict[int, Callable[..., Any]] = field(default_factory=dict)
    load_state_dict_post: dict[int, Callable[..., Any]] = field(default_factory=dict)

    @property
    def call_hook_tables(self) -> tuple[dict[int, Any], ...]:
        return self.forward_pre, self.forward, self.backward_pre, self.backward

    def replay_state(self) -> Iterator[tuple[str, dict[Any, Any], tuple[str, ...]]]:
        """State that replayed steps guard: names, dicts, and keys whose values may change."""
        for table in self.call_hook_tables:
            yield "", table, ()

    @property
    def has_call_hooks(self) -> bool:
        return bool(self.forward_pre or self.forward or self.backward_pre or self.backward)


GLOBAL_HOOKS = ModuleHooks()
"""Hooks of all modules; they run before the hooks of a module."""

_NO_HOOKS = ModuleHooks()


def call(module: Any, module_hooks: ModuleHooks | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call `module.forward` and its hooks. Return values of hooks replace the input or the output."""
    module_hooks = module_hooks or _NO_HOOKS
    after = [*GLOBAL_HOOKS.forward.values(), *module_hooks.forward.values()]
    backward = None
    try:
        args, kwargs = _run_pre_hooks(
            module, args, kwargs, [*GLOBAL_HOOKS.forward_pre.values(), *module_hooks.forward_pre.values()]
        )
        if GLOBAL_HOOKS.backward_pre or GLOBAL_HOOKS.backward or module_hooks.backward_pre or module_hooks.backward:
            backward = BackwardHooks(
                module,
                [*GLOBAL_HOOKS.backward_pre.values(), *module_hooks.backward_pre.values()],
                [*GLOBAL_HOOKS.backward.values(), *module_hooks.backward.values()],
            )
            args = backward.on_inputs(args)
        output = module.forward(*args, **kwargs)
        while after:
            output = _run_forward_hook(module, args, kwargs, output, after.pop(0))
    except Exception:
        for hook in after:
            if hook.always_call:
                _run_hook_after_error(module, args, kwargs, hook)
        raise
    return output if backward is None else backward.on_outputs(output)


def _run_pre_hooks(
    module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], hooks: list[Hook]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    for hook in hooks:
        if hook.with_kwargs:
            result = hook.function(module, args, kwargs)
            if result is None:
                continue
            if not isinstance(result, tuple) or len(result) != 2:
                raise TypeError("a forward pre-hook with_kwargs must return None or (args, kwargs)")
            args, kwargs = result
        else:
            result = hook.function(module, args)
            if result is not None:
                args = result if isinstance(result, tuple) else (result,)
    return args, kwargs


def _run_forward_hook(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any, hook: Hook) -> Any:
    arguments = (module, args, kwargs, output) if hook.with_kwargs else (module, args, output)
    result = hook.function(*arguments)
    return output if result is None else result


def _run_hook_after_error(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], hook: Hook) -> None:
    """Run an always-called hook after an error; its errors become warnings, to keep the original error."""
    try:
        _run_forward_hook(module, args, kwargs, None, hook)
    except Exception as error:  # noqa: BLE001  (a hook may raise anything)
        warnings.warn(f"a forward hook raised an error while another error was handled: {error!r}", stacklevel=4)


# -- hooks of all modules ---------------------------------------------------------------------------


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, args)`` before the forward pass of every module."""
    return RemovableHandle.add(GLOBAL_HOOKS.forward_pre, Hook(hook))


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call ``hook(module, args, output)`` after the forward pass of every module."""
    return RemovableHandle.add(GLOBAL_HOOKS.forward, Hook(hook, with_kwargs, always_call))


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` before the backward pass of every module."""
    return RemovableHandle.add(GLOBAL_HOOKS.backward_pre, hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` after the backward pass of every module."""
    return RemovableHandle.add(GLOBAL_HOOKS.backward, hook)


register_module_backward_hook = register_module_full_backward_hook


REGISTRATION_HOOKS: dict[str, dict[int, Callable[..., Any]]] = {"parameter": {}, "buffer": {}, "module": {}}


def run_registration_hooks(kind: str, module: Any, name: str, value: Any) -> Any:
    """Value to register, after the registration hooks."""
    for hook in tuple(REGISTRATION_HOOKS[kind].values()):
        found = hook(module, name, value)
        value = value if found is None else found
    return value


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, parameter)`` before a parameter is registered; its result replaces the parameter."""
    return RemovableHandle.add(REGISTRATION_HOOKS["parameter"], hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, buffer)`` before a buffer is registered; its result replaces the buffer."""
    return RemovableHandle.add(REGISTRATION_HOOKS["buffer"], hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, child)`` before a child is registered; its result replaces the child."""
    return RemovableHandle.add(REGISTRATION_HOOKS["module"], hook)


# -- hooks of one module ----------------------------------------------------------------------------


class HasHooks:
    """Base of `Module` with the methods that register hooks."""

    _hooks: ModuleHooks | None

    def _own_hooks(self) -> ModuleHooks:
        if self._hooks is None:
            self._hooks = ModuleHooks()
        return self._hooks

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before each forward; a returned value replaces the arguments."""
        return RemovableHandle.add(self._own_hooks().forward_pre, Hook(hook, with_kwargs), first=prepend)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args, output)`` after each forward; a returned value replaces the output."""
        return RemovableHandle.add(self._own_hooks().forward, Hook(hook, with_kwargs, always_call), first=prepend)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` when the output gradients are computed; it may replace them."""
        return RemovableHandle.add(self._own_hooks().backward_pre, hook, first=prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` when the input gradients are computed; it may replace them."""
        return RemovableHandle.add(self._own_hooks().backward, hook, first=prepend)

    register_backward_hook = register_full_backward_hook

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars)`` before `state_dict` reads this module."""
        return RemovableHandle.add(self._own_hooks().state_dict_pre, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata)`` after `state_dict` has read this module and its
        submodules; the hook may change `state_dict`."""
        return RemovableHandle.add(self._own_hooks().state_dict_post, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)``
        before loading; the hook may change `state_dict`, which is a copy."""
        return RemovableHandle.add(self._own_hooks().load_state_dict_pre, hook)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` after `load_state_dict`; keys that it removes are not reported as
        errors."""
        return RemovableHandle.add(self._own_hooks().load_state_dict_post, hook)

    _register_state_dict_hook = register_state_dict_post_hook

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        """Like `register_load_state_dict_pre_hook`; the hook gets the module only if `with_module` is set."""
        return self.register_load_state_dict_pre_hook(hook if with_module else lambda module, *rest: hook(*rest))

    # PyTorch's private names, which user code inspects.

    @property
    def _forward_hooks(self) -> dict[int, Callable[..., Any]]:
        return {number: hook.function for number, hook in self._own_hooks().forward.items()}

    @property
    def _forward_pre_hooks(self) -> dict[int, Callable[..., Any]]:
        return {number: hook.function for number, hook in self._own_hooks().forward_pre.items()}

    @property
    def _backward_hooks(self) -> dict[int, Callable[..., Any]]:
        return self._own_hooks().backward
