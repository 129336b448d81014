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
    """What saving and loading needs of a module."""

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


def load(module: StatefulModule, given: Mapping[str, Any], *, strict: bool, assign: bool) -> IncompatibleKeys:
    if not isinstance(given, Mapping):
        raise TypeError(f"a state dict must be a mapping from names to tensors, not {type(given).__name__}")
    keys = IncompatibleKeys([], [])
    given = _prepared(module, given, keys, strict=strict)
    tensors, extra = list(_saved_tensors(module, "")), _extra(module)
    present = {key: tensor for key, _, _, tensor in tensors}
    keys.missing_keys.extend(
        key for key, owner, name, _ in tensors if key not in given and name not in owner.absent_in_old_files
    )
    keys.missing_keys.extend(key for key in extra if key not in given)
    keys.unexpected_keys.extend(key for key in given if key not in present and key not in extra)
    found = {key: given[key] if is_lazy(given[key]) else as_tensor(given[key]) for key in present if key in given}
    known = {key: tensor for key, tensor in found.items() if not is_lazy(present[key])}
    misfits = [key for key, tensor in known.items() if tuple(tensor.shape) != tuple(present[key].shape)]
    with_hooks = [child for child in module.modules() if child._hooks is not None and child._hooks.load_state_dict_post]
    if misfits or (strict and not with_hooks and any(keys)):
        raise WeightsError(_message(module, present, given, found, *keys, misfits, strict=strict))
    with no_grad():
        for key, owner, name, tensor in tensors:
            if key in found:
                _set(owner, name, tensor, found[key], assign=assign)
    for key, owner in extra.items():
        if key in given:
            owner.set_extra_state(given[key])
    for child in reversed(with_hooks):
        for hook in tuple(child._hooks.load_state_dict_post.values()) if child._hooks is not None else ():
            if hook(child, keys) is not None:
                raise TypeError("a load_state_dict hook must return None; it may modify the keys in place")
    if strict and any(keys):
        raise WeightsError(_message(module, present, given, found, *keys, misfits, strict=strict, changed=True))
    return keys


def _prepared(
    module: StatefulModule, given: Mapping[str, Any], keys: IncompatibleKeys, *, strict: bool
) -> Mapping[str, Any]:
    """State dict after hooks and `_load_from_state_dict`, which may also add to `keys`."""
    given = dict(given)
    errors: list[str] = []
    for path, child in module.named_modules():
        prefix = f"{path}." if path else ""
        hooks = () if child._hooks is None else tuple(child._hooks.load_state_dict_pre.values())
        for hook in hooks:
            hook(child, given, prefix, {}, strict, *keys, errors)
        child._load_from_state_dict(given, prefix, {}, strict, *keys, errors)
    if errors:
        raise WeightsError("\n  ".join([f"These weights do not match {type(module).__name__}:", *errors]))
    return given


def _extra(module: StatefulModule) -> dict[str, Any]:
    """Modules with extra state, by key."""
    named = module.named_modules(remove_duplicate=False)
    return {f"{path}.{EXTRA}" if path else EXTRA: child for path, child in named if child._has_extra_state}


def own(module: StatefulModule) -> Iterator[tuple[str, Tensor]]:
    """(attribute, tensor) pairs of a module, without its children."""
    saved = {name: buffer for name, buffer in module._buffers.items() if name not in module._unsaved}
    for name, tensor in (*module._parameters.items(), *saved.items()):
        if tensor is not None:
            yield name, tensor


def _saved_tensors(module: StatefulModule, prefix: str) -> Iterator[tuple[str, Any, str, Tensor]]:
    """(key, owner, attribute, tensor) of all saved tensors; shared tensors appear under each name."""
    for path, owner in module.named_modules(remove_duplicate=False):
        start = f"{prefix}{path}." if path else prefix
        for name, tensor in own(owner):
            yield start + name, owner, name, tensor


def _set(owner: StatefulModule, name: str, tensor: Tensor, value: Tensor, *, assign: bool) -> None:
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


def _message(
    module: StatefulModule,
    own: Mapping[str, Tensor],
    given: Mapping[str, Any],
    found: Mapping[str, Tensor],
    missing: Sequence[str],
    unexpected: Sequence[str],
    misfits: Sequence[str],
    *,
    strict: bool,
    changed: bool = False,
) -> str:
    outcome = "matching weights were loaded" if changed else "nothing was changed"
    lines = [f"These weights do not match {type(module).__name__}; {outcome}."]
    if strict:
        lines += [f"  missing: {key}{_shape(own, key)}" for key in missing]
        lines += [f"  unexpected: {key}{_shape(given, key)}" for key in unexpected]
    for key in misfits:
        shapes = f"{format_shape(own[key].shape)} in the module and {format_shape(found[key].shape)} in the weights"
        lines.append(f"  shape: {key} is {shapes}")
    lines.append(_remedy(own, given, misfits))
    return "\n".join(lines)


def _shape(tensors: Mapping[str, Any], key: str) -> str:
    return f" ({format_shape(np.shape(tensors[key]))})" if key in tensors else ""


def _remedy(own: Mapping[str, Any], given: Mapping[str, Any], misfits: Sequence[str]) -> str:
    for start in {key.partition(".")[0] + "." for key in given}:
        if all(key.startswith(start) and key[len(start) :] in own for key in given):
            return f"Remove the prefix {start!r} from every key of the weights."
    for start in {key.partition(".")[0] + "." for key in own}:
        if all(start + key in own for key in given):
            return (
                f"Load them into {start[:-1]!r} of the module, or add the prefix {start!r} to every key of the weights."
            )
    if misfits:
        return "Create the module with the sizes of the weights, or remove these keys from the weights."
    return "Rename the keys, or pass strict=False to load the matching weights only."
