"""Base classes of optimizers: parameter groups, state, hooks."""

from __future__ import annotations

import functools
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Annotated, Any, ClassVar, TypeAlias

import numpy as np

from engine.errors import WeightsError
from engine.graph import RemovableHandle
from engine.modes import note_attributes
from engine.optim.optimizer_hooks import OptimizerHooks
from engine.registry import NonNegative, Parameter, Range, parameters
from engine.shape import format_shape
from engine.tensors import Tensor
from engine.tensors.creation import as_tensor

Parameters: TypeAlias = Iterable[Tensor] | Iterable[tuple[str, Tensor]] | Iterable[dict[str, Any]]
"""Tensors, (name, tensor) pairs, or parameter groups ``{"params": tensors, "lr": 0.1, …}``."""

Group: TypeAlias = dict[str, Any]
State: TypeAlias = dict[str, Any]

LearningRate: TypeAlias = NonNegative | Tensor
"""A learning rate; a tensor of one element can be changed in place."""

DecayRate: TypeAlias = Annotated[float, Range(ge=0, lt=1)]
"""Factor by which each step multiplies a running average."""

KernelFlag: TypeAlias = Any
"""A bool or None that selects a kernel in PyTorch. Accepted and stored in parameter groups; not shown in forms."""


def _with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(step)
    def step_with_hooks(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if "_hooks" not in vars(self):  # a wrapper of an optimizer may not call Optimizer.__init__
            return step(self, *args, **kwargs)
        for hook in self._hooks.hooks_for("step_pre"):
            replaced = hook(self, args, kwargs)
            if replaced is not None:
                args, kwargs = replaced
        result = step(self, *args, **kwargs)
        note_attributes(self, "steps")
        self.steps += 1
        for hook in self._hooks.hooks_for("step_post"):
            hook(self, args, kwargs)
        return result

    return step_with_hooks


class Optimizer:
    """Base class of optimizers, which update parameters by their gradients.

    `param_groups` is a list of dictionaries with "params" and hyperparameters, which may change between steps. `state`
    maps each parameter to its buffers and counters.

    A subclass defines `step`, or derives from `UpdateRule` and defines `update`. The signature of its constructor
    declares the hyperparameters: `hyperparameters` collects their values, `check` validates them against the
    annotations, and forms are derived from both.

    Args:
        params: tensors, (name, tensor) pairs, or parameter groups
        defaults: hyperparameters of groups that do not set them
    """

    needs_closure: ClassVar[bool] = False
    """`step` requires a closure, because it evaluates the loss several times."""
    scalar_state: ClassVar[frozenset[str]] = frozenset({"step"})
    """State entries that are Python numbers here and float32 tensors in PyTorch's state dict."""

    def __init__(self, params: Parameters, defaults: Mapping[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError("an optimizer takes an iterable of tensors, not one tensor. Pass [tensor].")
        self.defaults = dict(defaults)
        self.param_groups: list[Group] = []
        self.state: defaultdict[Tensor, State] = defaultdict(dict)
        self.steps = 0
        """Number of calls of `step`."""
        self._hooks = OptimizerHooks()
        _check_kernel_flags(self.defaults)
        groups: list[Any] = list(params)
        if not groups:
            raise ValueError(
                "the optimizer got an empty parameter list. Check that model.parameters() is not empty or consumed."
            )
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Wrap the subclass's `step`: count its calls and run hooks around it."""
        super().__init_subclass__(**kwargs)
        if "step" in vars(cls):
            cls.step = _with_hooks(vars(cls)["step"])

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient.

        Args:
            closure: function that computes loss and gradients and returns the loss

        Returns:
            the loss that `closure` returned; None without `closure`
        """
        raise NotImplementedError(f"{type(self).__name__} has no step(). Define it in the class.")

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients of all parameters: to None, or to zeros if `set_to_none` is false."""
        for group in self.param_groups:
            for param in group["params"]:
                if set_to_none or param.grad is None:
                    param.grad = None
                else:
                    param.grad = param.grad.detach().zero_()

    # -- groups

    def add_param_group(self, param_group: Mapping[str, Any]) -> None:
        """Add a parameter group; hyperparameters missing in `param_group` are the optimizer's defaults."""
        if not isinstance(param_group, Mapping):
            raise TypeError(f"a parameter group must be a dictionary with 'params', not {type(param_group).__name__}")
        params = param_group["params"]
        if isinstance(params, set):
            raise TypeError("params must be ordered, but is a set. Pass a list.")
        items = [params] if isinstance(params, Tensor) else list(params)
        named_params = [item for item in items if isinstance(item, tuple)]
        if named_params and len(named_params) != len(items):
            raise ValueError("either all parameters of a group must be named or none")
        tensors = [tensor for _, tensor in named_params] if named_params else items
        self._check(tensors)
        self.check_params(tensors)
        group = {"params": tensors, **({"param_names": [name for name, _ in named_params]} if named_params else {})}
        options = {**self.defaults, **{name: value for name, value in param_group.items() if name != "params"}}
        self.check(options)
        self.param_groups.append(group | options)

    def check(self, options: Mapping[str, Any]) -> None:
        """Validate hyperparameters of a group against the annotations of the constructor. Raises ValueError."""
        for parameter in _declared_hyperparameters(type(self)):
            value = options.get(parameter.name, parameter.default)
            if isinstance(value, Tensor) and value.numel() != 1:
                raise ValueError(f"{type(self).__name__}: {parameter.name} must be a number or a tensor of one element")
            problem = parameter.problem(value.item() if isinstance(value, (Tensor, np.generic)) else value)
            if problem:
                raise ValueError(f"{type(self).__name__}: {parameter.name} {problem}")

    def check_params(self, tensors: list[Tensor]) -> None:
        """Raise ValueError if this optimizer does not support a parameter."""

    def _check(self, tensors: list[Any]) -> None:
        existing = {id(tensor) for group in self.param_groups for tensor in group["params"]}
        if len({id(tensor) for tensor in tensors}) < len(tensors):
            warnings.warn(
                f"{type(self).__name__}: a parameter group repeats a parameter, so each step updates it "
                "more than once. List each parameter once.",
                stacklevel=3,
            )
        for tensor in tensors:
            if not isinstance(tensor, Tensor):
                raise TypeError(f"an optimizer updates tensors, not {type(tensor).__name__}")
            if not tensor.is_leaf:
                raise ValueError(
                    f"a {format_shape(tensor.shape)} tensor is not a leaf tensor, so an optimizer cannot update it. "
                    "Pass leaf tensors, such as model.parameters()."
                )
            if id(tensor) in existing:
                raise ValueError(
                    f"a {format_shape(tensor.shape)} parameter is in more than one parameter group. "
                    "List each parameter in one group."
                )

    # -- state

    def initial_state(self, param: Tensor, group: Group) -> State:
        """State of a parameter before its first update."""
        return {}

    def required_state(self, state: State, param: Tensor, group: Group) -> State:
        """Entries required in a saved state of a parameter, each with a value of the expected type."""
        return self.initial_state(param, group) if state else {}

    def check_state_entries(self, state: State, param: Tensor, group: Group) -> None:
        """Raise WeightsError if a saved state lacks an entry or an entry has the wrong type."""
        for name, value in self.required_state(state, param, group).items():
            if name not in state:
                problem = f"lacks the entry {name!r}"
            elif isinstance(value, (list, Tensor)) and not isinstance(state[name], type(value)):
                problem = f"has a {type(state[name]).__name__} as {name!r}, not a {type(value).__name__}"
            elif not isinstance(value, (list, Tensor)) and not _is_number(state[name]):
                problem = f"has a {type(state[name]).__name__} as {name!r}, not a number"
            else:
                continue
            number = next(number for number, one in enumerate(self._params()) if one is param)
            raise WeightsError(
                f"the saved {type(self).__name__} state of parameter {number} {problem}. Load a complete state."
            )

    def state_dict(self) -> dict[str, Any]:
        """State and hyperparameters in PyTorch's format.

        The format is ``{"state": {index: {…}}, "param_groups": [{…, "params": [indices]}]}``. Tensors share memory with
        the optimizer.
        """
        self._hooks.run("state_dict_pre", self)
        numbers = {id(param): number for number, param in enumerate(self._params())}
        groups = [
            {name: value for name, value in group.items() if name != "params"}
            | {"params": [numbers[id(param)] for param in group["params"]]}
            for group in self.param_groups
        ]
        packed = {
            numbers[id(param)]: {name: self._pack_value(name, value) for name, value in state.items()}
            for param, state in self.state.items()
            if state
        }
        result = {"state": packed, "param_groups": groups}
        for hook in self._hooks.hooks_for("state_dict_post"):
            replaced = hook(self, result)
            result = result if replaced is None else replaced
        return result

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Load hyperparameters and state from a `state_dict` of this library or of PyTorch.

        The optimizer must have the same parameters in the same order. Raises WeightsError, and changes nothing, if
        parameter groups or shapes do not match.
        """
        for hook in self._hooks.hooks_for("load_state_dict_pre"):
            replaced = hook(self, state_dict)
            state_dict = state_dict if replaced is None else replaced
        groups = state_dict["param_groups"]
        sizes, found = [len(g["params"]) for g in self.param_groups], [len(g["params"]) for g in groups]
        if sizes != found:
            raise WeightsError(
                f"this {type(self).__name__} has parameter groups of sizes {sizes}, but the state dict has {found}. "
                "Create the optimizer with the same parameter groups."
            )
        loaded: defaultdict[Tensor, State] = defaultdict(dict)
        for group, options in zip(self.param_groups, groups, strict=True):
            for number, param in zip(options["params"], group["params"], strict=True):
                if number in state_dict["state"]:
                    saved = state_dict["state"][number]
                    loaded[param] = {name: self._unpack_value(name, value, param) for name, value in saved.items()}
                    self.check_state_entries(loaded[param], param, {**group, **options})
        self.state = loaded
        for group, options in zip(self.param_groups, groups, strict=True):
            group.update({name: value for name, value in options.items() if name != "params"})
        self._hooks.run("load_state_dict_post", self)

    def _pack_value(self, name: str, value: Any) -> Any:
        return as_tensor(float(value)) if name in self.scalar_state else value

    def _unpack_value(self, name: str, value: Any, param: Tensor) -> Any:
        """A saved value: counters as Python numbers, tensors copied to the parameter's dtype and device."""
        if isinstance(value, (list, tuple)):
            return type(value)(self._unpack_value("", item, param) for item in value)
        if not isinstance(value, (Tensor, np.ndarray)):
            return value
        tensor = as_tensor(value)
        if name in self.scalar_state:
            number = tensor.item()
            return int(number) if name == "step" else number
        self.check_state(name, tensor, param)
        dtype = param.dtype if tensor.is_floating_point() else tensor.dtype
        return tensor.detach().to(dtype=dtype, device=param.device, copy=True)

    def check_state(self, name: str, value: Tensor, param: Tensor) -> None:
        """Raise WeightsError if a saved tensor does not fit its parameter."""

    def replay_state(self) -> Iterator[tuple[str, dict[Any, Any], tuple[str, ...]]]:
        """State that replayed steps guard: names, dicts, and keys whose values may change between steps."""
        for number, group in enumerate(self.param_groups):
            yield f"param_groups[{number}]", group, ("lr", "betas")
        for state in self.state.values():
            yield "state", state, tuple([name for name, value in state.items() if type(value) in (int, float)])
        yield "", vars(self), ("steps",)

    def _params(self) -> Iterable[Tensor]:
        return chain.from_iterable(group["params"] for group in self.param_groups)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for number, group in enumerate(self.param_groups):
            lines += ["", f"Parameter Group {number}"] if number else [f"Parameter Group {number}"]
            lines += [f"    {name}: {group[name]}" for name in sorted(group) if name != "params"]
        return "\n".join([*lines, ")"])

    # -- hooks

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before each step; it may return new (args, kwargs)."""
        return self._hooks.add("step_pre", hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return self._hooks.add("step_post", hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` before each `state_dict`."""
        return self._hooks.add("state_dict_pre", hook, prepend=prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` after each `state_dict`; it may return another."""
        return self._hooks.add("state_dict_post", hook, prepend=prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` before each `load_state_dict`; it may return another."""
        return self._hooks.add("load_state_dict_pre", hook, prepend=prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` after each `load_state_dict`."""
        return self._hooks.add("load_state_dict_post", hook, prepend=prepend)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) or (isinstance(value, Tensor) and value.numel() == 1)


def round_to_float32(value: float) -> float:
    """`value` rounded to float32, the precision of PyTorch's scalar state."""
    return float(np.float32(value))


def hyperparameters(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of an optimizer's constructor after `params`: the `defaults` of its parameter groups.

    Args:
        arguments: `locals()` of the constructor, before it assigns other variables
    """
    return {name: value for name, value in arguments.items() if name not in ("self", "params", "__class__")}


@functools.cache
def _declared_hyperparameters(kind: type[Optimizer]) -> tuple[Parameter, ...]:
    return parameters(kind)


def _check_kernel_flags(options: Mapping[str, Any]) -> None:
    if options.get("fused") and options.get("foreach"):
        raise RuntimeError("fused and foreach cannot both be True. Omit both: one kernel is used in either case.")
    if options.get("differentiable"):
        raise NotImplementedError(
            "differentiable=True is not supported, because steps write in place. Compute the new parameters from "
            "engine.grad(..., create_graph=True) and call the model with engine.func.functional_call()."
        )
    if isinstance(options.get("lr"), Tensor) and options.get("foreach") and not options.get("capturable"):
        raise ValueError("a tensor lr with foreach=True requires capturable=True. Omit foreach.")
