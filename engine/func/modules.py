"""Modules as functions of their parameters and buffers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from engine.errors import ShapeError
from engine.nn.layers.batch_norm import BatchNorm
from engine.nn.module import Module
from engine.ops.movement.joining import stack
from engine.shape import format_shape
from engine.tensors import Tensor


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call `module(*args, **kwargs)` with the given tensors instead of its parameters and buffers.

    Args:
        module: module to call; unchanged afterwards
        parameter_and_buffer_dicts: tensors by name, in one dict or several; other tensors are kept
        args: positional arguments; a value that is not a tuple is the only argument
        kwargs: keyword arguments
        tie_weights: also replace tied parameters, which the module has under another name
        strict: raise an error for missing names
    """
    is_sequence = isinstance(parameter_and_buffer_dicts, Sequence)
    parts: Any = parameter_and_buffer_dicts if is_sequence else [parameter_and_buffer_dicts]
    tensors = {name: tensor for part in parts for name, tensor in part.items()}
    arguments = () if args is None else args if isinstance(args, tuple) else (args,)
    if tie_weights:
        tensors |= _tied_tensors(module, tensors)
    with _replaced_tensors(module, tensors, strict):
        return module(*arguments, **(kwargs or {}))


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Stack the parameters and buffers of several models of one class along a new first dimension.

    With `vmap` and `functional_call` the models run as an ensemble. Source: PyTorch's tutorial "Model ensembling".
    """
    if not models:
        raise ValueError("stack_module_state(): the list of models is empty. Pass at least one.")
    classes = {type(model) for model in models}
    if len(classes) > 1:
        raise ValueError(
            f"stack_module_state(): the models must be of one class, not {', '.join(k.__name__ for k in classes)}"
        )
    if len({model.training for model in models}) > 1:
        raise ValueError("stack_module_state(): only some models are in training mode. Call train() or eval() on all.")
    parameters = [dict(model.named_parameters()) for model in models]
    buffers = [dict(model.named_buffers()) for model in models]
    return ({name: _stack(name, [one[name] for one in parameters]) for name in parameters[0]},
            {name: _stack(name, [one[name] for one in buffers]) for name in buffers[0]})  # fmt: skip


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Make all batch norms in `root` use batch statistics only, so that vmap can run samples one by one."""
    for module in root.modules():
        if isinstance(module, BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root


def _stack(name: str, tensors: list[Tensor]) -> Tensor:
    shapes = {tuple(tensor.shape) for tensor in tensors}
    if len(shapes) > 1:
        raise ShapeError(f"stack_module_state(): {name} is {' and '.join(map(format_shape, shapes))}")
    if len({tensor.requires_grad for tensor in tensors}) > 1:
        raise ValueError(f"stack_module_state(): {name} requires gradients in some models and not in others")
    return stack(tensors).detach().requires_grad_(tensors[0].requires_grad)


def _tied_tensors(module: Module, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors for the other names of tied parameters."""
    own = {name: table[name.rpartition(".")[2]] for name, table in _member_tables(module)}
    by_id = {id(own[name]): tensor for name, tensor in tensors.items() if own.get(name) is not None}
    return {name: by_id[id(one)] for name, one in own.items() if id(one) in by_id and name not in tensors}


@contextmanager
def _replaced_tensors(module: Module, tensors: Mapping[str, Tensor], strict: bool) -> Iterator[None]:
    """Context in which `module` has other tensors."""
    own = dict(_member_tables(module))
    unknown, missing = sorted(set(tensors) - set(own)), sorted(set(own) - set(tensors))
    if unknown or (strict and missing):
        raise KeyError(
            f"functional_call(): the module has no parameters or buffers {unknown}"
            if unknown
            else f"functional_call(): strict=True requires all parameters and buffers, but {missing} are missing"
        )
    originals = {name: own[name][name.rpartition(".")[2]] for name in tensors}
    try:
        for name, tensor in tensors.items():
            own[name][name.rpartition(".")[2]] = tensor
        yield
    finally:
        for name, tensor in originals.items():
            own[name][name.rpartition(".")[2]] = tensor


def _member_tables(module: Module) -> Iterator[tuple[str, dict[str, Any]]]:
    for prefix, part in module.named_modules():
        for table in (part._parameters, part._buffers):
            yield from ((f"{prefix}.{name}" if prefix else name, table) for name in table)
