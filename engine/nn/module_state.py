"""Implementation of `Module.state_dict` and `load_state_dict`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from engine.errors import WeightsError
from engine.modes import no_grad
from engine.nn.parameter import is_lazy
from engine.shape import format_shape
from engine.tensors import Tensor
from engine.tensors.creation import as_tensor

EXTRA = "_extra_state"
"""Key suffix of a module's extra state."""


class StatefulModule(Protocol):
    """Methods of a module that saving and loading call."""

    def modules(self) -> Iterator[Any]: ...

    def named_modules(
        self, memo: Any = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]: ...

    def __getattr__(self, name: str) -> Any: ...

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None: ...


class IncompatibleKeys(NamedTuple):
    """Keys that did not match when weights were loaded with ``strict=False``."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


def collect(module: StatefulModule, destination: dict[str, Any], prefix: str, *, keep_vars: bool) -> dict[str, Any]:
    hooks = module._hooks
    for hook in () if hooks is None else tuple(hooks.state_dict_pre.values()):
        hook(module, prefix, keep_vars)
    module._save_to_state_dict(destination, prefix, keep_vars)
    for name, child in module._modules.items():
        if child is not None:
            child.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
    for hook in () if hooks is None else tuple(hooks.state_dict_post.values()):
        if hook(module, destination, prefix, {}) is not None:
            raise TypeError("a state_dict hook must return None; it may modify the mapping in place")
    return destination


def load(module: StatefulModule, state_dict: Mapping[str, Any], *, strict: bool, assign: bool) -> IncompatibleKeys:
    if not isinstance(state_dict, Mapping):
        raise TypeError(f"a state dict must be a mapping from names to tensors, not {type(state_dict).__name__}")
    keys = IncompatibleKeys([], [])
    state_dict = _run_pre_hooks(module, state_dict, keys, strict=strict)
    tensors, extra = list(_saved_tensors(module, "")), _modules_with_extra_state(module)
    own = {key: tensor for key, _, _, tensor in tensors}
    keys.missing_keys.extend(
        key for key, owner, name, _ in tensors if key not in state_dict and name not in owner.absent_in_old_files
    )
    keys.missing_keys.extend(key for key in extra if key not in state_dict)
    keys.unexpected_keys.extend(key for key in state_dict if key not in own and key not in extra)
    loaded = {
        key: state_dict[key] if is_lazy(state_dict[key]) else as_tensor(state_dict[key])
        for key in own
        if key in state_dict
    }
    sized = {key: tensor for key, tensor in loaded.items() if not is_lazy(own[key])}
    mismatched = [key for key, tensor in sized.items() if tuple(tensor.shape) != tuple(own[key].shape)]
    with_hooks = [child for child in module.modules() if child._hooks is not None and child._hooks.load_state_dict_post]
    if mismatched or (strict and not with_hooks and any(keys)):
        raise WeightsError(_mismatch_message(module, own, state_dict, loaded, *keys, mismatched, strict=strict))
    with no_grad():
        for key, owner, name, tensor in tensors:
            if key in loaded:
                _assign(owner, name, tensor, loaded[key], assign=assign)
    for key, owner in extra.items():
        if key in state_dict:
            owner.set_extra_state(state_dict[key])
    for child in reversed(with_hooks):
        for hook in tuple(child._hooks.load_state_dict_post.values()) if child._hooks is not None else ():
            if hook(child, keys) is not None:
                raise TypeError("a load_state_dict hook must return None; it may modify the keys in place")
    if strict and any(keys):
        raise WeightsError(
            _mismatch_message(module, own, state_dict, loaded, *keys, mismatched, strict=strict, changed=True)
        )
    return keys


def _run_pre_hooks(
    module: StatefulModule, state_dict: Mapping[str, Any], keys: IncompatibleKeys, *, strict: bool
) -> Mapping[str, Any]:
    """State dict after hooks and `_load_from_state_dict`, which may also add to `keys`."""
    state_dict = dict(state_dict)
    errors: list[str] = []
    for path, child in module.named_modules():
        prefix = f"{path}." if path else ""
        hooks = () if child._hooks is None else tuple(child._hooks.load_state_dict_pre.values())
        for hook in hooks:
            hook(child, state_dict, prefix, {}, strict, *keys, errors)
        child._load_from_state_dict(state_dict, prefix, {}, strict, *keys, errors)
    if errors:
        raise WeightsError("\n  ".join([f"These weights do not match {type(module).__name__}:", *errors]))
    return state_dict


def _modules_with_extra_state(module: StatefulModule) -> dict[str, Any]:
    """Modules with extra state, by key."""
    named = module.named_modules(remove_duplicate=False)
    return {f"{path}.{EXTRA}" if path else EXTRA: child for path, child in named if child._has_extra_state}


def own_tensors(module: StatefulModule) -> Iterator[tuple[str, Tensor]]:
    """(attribute, tensor) pairs of a module, without its children."""
    saved = {name: buffer for name, buffer in module._buffers.items() if name not in module._non_persistent_buffers_set}
    for name, tensor in (*module._parameters.items(), *saved.items()):
        if tensor is not None:
            yield name, tensor


def _saved_tensors(module: StatefulModule, prefix: str) -> Iterator[tuple[str, Any, str, Tensor]]:
    """(key, owner, attribute, tensor) of all saved tensors; shared tensors appear under each name."""
    for path, owner in module.named_modules(remove_duplicate=False):
        start = f"{prefix}{path}." if path else prefix
        for name, tensor in own_tensors(owner):
            yield start + name, owner, name, tensor


def _assign(owner: StatefulModule, name: str, tensor: Tensor, value: Tensor, *, assign: bool) -> None:
    if is_lazy(value):
        return
    if is_lazy(tensor):
        tensor.materialize(value.shape)
    if not assign:
        tensor.copy_(value)
    elif name in owner._parameters:
        tensor.data = value.detach()
    else:
        owner._buffers[name] = value.detach()


# -- error message with all keys -------------------------------------------------------------


def _mismatch_message(
    module: StatefulModule,
    own: Mapping[str, Tensor],
    state_dict: Mapping[str, Any],
    loaded: Mapping[str, Tensor],
    missing: Sequence[str],
    unexpected: Sequence[str],
    mismatched: Sequence[str],
    *,
    strict: bool,
    changed: bool = False,
) -> str:
    outcome = "matching weights were loaded" if changed else "nothing was changed"
    lines = [f"These weights do not match {type(module).__name__}; {outcome}."]
    if strict:
        lines += [f"  missing: {key}{_shape(own, key)}" for key in missing]
        lines += [f"  unexpected: {key}{_shape(state_dict, key)}" for key in unexpected]
    for key in mismatched:
        shapes = f"{format_shape(own[key].shape)} in the module and {format_shape(loaded[key].shape)} in the weights"
        lines.append(f"  shape: {key} is {shapes}")
    lines.append(_remedy(own, state_dict, mismatched))
    return "\n".join(lines)


def _shape(tensors: Mapping[str, Any], key: str) -> str:
    return f" ({format_shape(np.shape(tensors[key]))})" if key in tensors else ""


def _remedy(own: Mapping[str, Any], state_dict: Mapping[str, Any], mismatched: Sequence[str]) -> str:
    for start in {key.partition(".")[0] + "." for key in state_dict}:
        if all(key.startswith(start) and key[len(start) :] in own for key in state_dict):
            return f"Remove the prefix {start!r} from every key of the weights."
    for start in {key.partition(".")[0] + "." for key in own}:
        if all(start + key in own for key in state_dict):
            return (
                f"Load them into {start[:-1]!r} of the module, or add the prefix {start!r} to every key of the weights."
            )
    if mismatched:
        return "Create the module with the sizes of the weights, or remove these keys from the weights."
    return "Rename the keys, or pass strict=False to load the matching weights only."
