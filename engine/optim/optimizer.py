"""The base of all optimizers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any, TypeAlias

from engine.creation import as_tensor
from engine.errors import WeightsError
from engine.modes import enable_grad, no_grad
from engine.shape import format_shape
from engine.tensor import Tensor

Parameters: TypeAlias = Iterable[Tensor] | Iterable[tuple[str, Tensor]] | Iterable[dict[str, Any]]
"""What an optimizer changes: tensors, (name, tensor) pairs, or groups ``{"params": tensors, "lr": 0.1, …}``."""

Group: TypeAlias = dict[str, Any]
State: TypeAlias = dict[str, Any]


class Optimizer(ABC):
    """Changes parameters by their gradients.

    Options apply to groups of parameters: `param_groups` is a list of dictionaries with "params" and the options, which
    may be changed between steps. `state` holds what the optimizer remembers of each parameter.

    A subclass gives `update`. It changes one parameter by in-place ops and never reads numbers back, so that a whole
    step can be recorded; what follows from options and counts alone is computed with Python numbers.
    """

    def __init__(self, params: Parameters, defaults: Mapping[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError("an optimizer takes an iterable of tensors, not one tensor. Put it into a list.")
        self.defaults = dict(defaults)
        self.param_groups: list[Group] = []
        self.state: defaultdict[Tensor, State] = defaultdict(dict)
        self.steps = 0
        """How often `step` was called."""
        given: list[Any] = list(params)
        if not given:
            raise ValueError("the optimizer got no parameters. Is model.parameters() empty, or was it used up before?")
        for group in given if isinstance(given[0], dict) else [{"params": given}]:
            self.add_param_group(group)

    @abstractmethod
    def update(self, param: Tensor, gradient: Tensor, state: State, group: Group) -> None:
        """Change `param` in place. `gradient` points uphill and must not be changed; `state` is {} at first."""

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change every parameter that has a gradient. Returns what `closure`, which may compute them first, returns."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            for group in self.param_groups:
                maximize = group["maximize"]
                for param in group["params"]:
                    gradient = param.grad
                    if gradient is not None:
                        self.update(param, -gradient if maximize else gradient, self.state[param], group)
        self.steps += 1
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or set them to zero."""
        for group in self.param_groups:
            for param in group["params"]:
                if set_to_none or param.grad is None:
                    param.grad = None
                else:
                    param.grad = param.grad.detach().zero_()

    # -- groups

    def add_param_group(self, param_group: Mapping[str, Any]) -> None:
        """Take on more parameters; options that `param_group` leaves out are the optimizer's defaults."""
        params = param_group["params"]
        if isinstance(params, set):
            raise TypeError("parameters need an order, which a set does not have. Give a list.")
        items = [params] if isinstance(params, Tensor) else list(params)
        named = [item for item in items if isinstance(item, tuple)]
        if named and len(named) != len(items):
            raise ValueError("either all parameters of a group have names or none has")
        tensors = [tensor for _, tensor in named] if named else items
        self._check(tensors)
        group = {"params": tensors, **({"param_names": [name for name, _ in named]} if named else {})}
        options = {**self.defaults, **{name: value for name, value in param_group.items() if name != "params"}}
        self.check(options)
        self.param_groups.append(group | options)

    def check(self, options: Mapping[str, Any]) -> None:
        """Raises ValueError for options of a group that cannot be used. Subclasses add their own."""
        for name in ("lr", "eps", "weight_decay", "momentum"):
            if name in options and not (math.isfinite(options[name]) and options[name] >= 0):
                raise ValueError(f"{type(self).__name__}: {name} must be a number ≥ 0, not {options[name]}")
        for beta in options.get("betas", ()):
            if not 0 <= beta < 1:
                raise ValueError(f"{type(self).__name__}: betas must be ≥ 0 and < 1, not {options['betas']}")

    def _check(self, tensors: list[Any]) -> None:
        known = {id(tensor) for group in self.param_groups for tensor in group["params"]}
        for tensor in tensors:
            if not isinstance(tensor, Tensor):
                raise TypeError(f"an optimizer changes tensors, but got {type(tensor).__name__}")
            if not tensor.is_leaf:
                raise ValueError(
                    f"a {format_shape(tensor.shape)} tensor is the result of an op, so changing it changes no model. "
                    "Give leaf tensors, such as model.parameters()."
                )
            if id(tensor) in known:
                raise ValueError(f"a {format_shape(tensor.shape)} parameter is given twice. List each one once.")
            known.add(id(tensor))

    # -- state

    def state_dict(self) -> dict[str, Any]:
        """PyTorch's format: ``{"state": {number: {…}}, "param_groups": [{…, "params": [numbers]}]}``.

        Tensors share memory with the optimizer. Counts, Python numbers in `state`, become float32 tensors as there.
        """
        numbers = {id(param): number for number, param in enumerate(self._params())}
        groups = [{**group, "params": [numbers[id(param)] for param in group["params"]]} for group in self.param_groups]
        packed = {
            numbers[id(param)]: {name: _packed(value) for name, value in state.items()}
            for param, state in self.state.items()
            if state
        }
        return {"state": packed, "param_groups": groups}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over options and state that `state_dict` gave, here or in PyTorch, for parameters in the same order.

        Raises WeightsError, and changes nothing, if groups or shapes do not fit.
        """
        given = state_dict["param_groups"]
        sizes, found = [len(g["params"]) for g in self.param_groups], [len(g["params"]) for g in given]
        if sizes != found:
            raise WeightsError(
                f"this {type(self).__name__} has parameter groups of {sizes} parameters, the saved one of {found}. "
                "Build the optimizer over the same parameters in the same groups."
            )
        numbers = list(chain.from_iterable(group["params"] for group in given))
        loaded: defaultdict[Tensor, State] = defaultdict(dict)
        for number, param in zip(numbers, self._params(), strict=True):
            if number in state_dict["state"]:
                loaded[param] = _unpacked(state_dict["state"][number], param)
        self.state = loaded
        for group, options in zip(self.param_groups, given, strict=True):
            group.update({name: value for name, value in options.items() if name != "params"})

    def _params(self) -> Iterable[Tensor]:
        return chain.from_iterable(group["params"] for group in self.param_groups)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for number, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {number}")
            lines += [f"    {name}: {group[name]}" for name in sorted(group) if name != "params"]
        return "\n".join([*lines, ")"])


def _packed(value: Any) -> Any:
    return as_tensor(float(value)) if isinstance(value, (int, float)) else value


def _unpacked(state: Mapping[str, Any], param: Tensor) -> State:
    """Counts as Python numbers, and copies of the tensors in the parameter's dtype and place."""
    return {name: _fitted(name, value, param) for name, value in state.items()}


def _fitted(name: str, value: Any, param: Tensor) -> Any:
    if value is None or isinstance(value, (int, float)):
        return value
    tensor = as_tensor(value)
    if name == "step":
        return int(tensor.item())
    if tuple(tensor.shape) != tuple(param.shape):
        raise WeightsError(
            f"the saved {name} is {format_shape(tensor.shape)}, but its parameter is {format_shape(param.shape)}. "
            "Build the optimizer over the same parameters in the same order."
        )
    return tensor.detach().to(dtype=param.dtype, device=param.device, copy=True)
