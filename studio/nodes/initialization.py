"""Parameters of layer nodes that set initial weights, and the functions of `engine.nn.init` that they stand for.

The classes of layers have no such arguments, as in PyTorch. Generated code calls the functions after the constructor.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from engine.nn import init
from engine.registry import NonNegative, Parameter, Positive, parameters

DEFAULT = "default"
"""The choice of `weight_init` that leaves the weights of the constructor."""
WEIGHT_INIT, BIAS_INIT = "weight_init", "bias_init"


def initialization(
    weight_init: Literal[
        "default",
        "kaiming_normal",
        "kaiming_uniform",
        "xavier_normal",
        "xavier_uniform",
        "orthogonal",
        "normal",
        "trunc_normal",
        "zeros",
    ] = "default",
    init_mode: Literal["fan_in", "fan_out"] = "fan_in",
    init_nonlinearity: Literal["relu", "leaky_relu", "linear", "tanh", "sigmoid", "selu"] = "relu",
    init_gain: Positive = 1.0,
    init_std: NonNegative = 0.02,
    bias_init: float | None = None,
) -> None:
    """Declares the parameters.

    Args:
        weight_init: distribution of the initial weights, a function of nn.init; default is that of the layer
        init_mode: for kaiming: keep the variance of outputs (fan_in) or of gradients (fan_out)
        init_nonlinearity: for kaiming: the activation that follows the layer
        init_gain: for xavier and orthogonal: factor of the weights
        init_std: for normal and trunc_normal: standard deviation of the weights
        bias_init: initial value of all biases; empty is the default of the layer
    """


_DECLARED = parameters(initialization)
NAMES = frozenset(parameter.name for parameter in _DECLARED)
"""Names of the parameters."""

_MATRICES = ("Linear", "Bilinear", *(f"Conv{kind}{d}d" for kind in ("", "Transpose") for d in (1, 2, 3)))
_EMBEDDINGS = ("Embedding", "EmbeddingBag")
_CELLS = ("RNNCell", "LSTMCell", "GRUCell")
_RECURRENT = ("RNN", "LSTM", "GRU")
TYPES = frozenset(f"nn.{title}" for title in (*_MATRICES, *_EMBEDDINGS, *_CELLS, *_RECURRENT))
"""Types of layers with these parameters."""

_KAIMING = {"init_mode": "mode", "init_nonlinearity": "nonlinearity"}
COMPANIONS: Mapping[str, Mapping[str, str]] = {
    DEFAULT: {},
    "kaiming_normal": _KAIMING,
    "kaiming_uniform": _KAIMING,
    "xavier_normal": {"init_gain": "gain"},
    "xavier_uniform": {"init_gain": "gain"},
    "orthogonal": {"init_gain": "gain"},
    "normal": {"init_std": "std"},
    "trunc_normal": {"init_std": "std"},
    "zeros": {},
}
"""By choice of `weight_init`: the parameters that it uses, with the arguments of the function that they are."""
_OMITTED = {"init_mode": "fan_in", "init_gain": 1.0}
"""Values that are the defaults of the functions and are not written."""

FUNCTIONS = frozenset({*(f"{choice}_" for choice in COMPANIONS if choice != DEFAULT), "constant_"})
"""The functions of `nn.init` that programs call."""
_PARAMETER = re.compile(r"(weight|bias)(_(ih|hh|hr)(_l\d{1,4}(_reverse)?)?)?")


def parameters_of(key: str) -> tuple[Parameter, ...]:
    """The parameters of a type of layers."""
    if key not in TYPES:
        return ()
    has_bias = key.removeprefix("nn.") not in _EMBEDDINGS
    return tuple(parameter for parameter in _DECLARED if has_bias or parameter.name != BIAS_INIT)


def without_initialization(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a layer's constructor."""
    return {name: value for name, value in arguments.items() if name not in NAMES}


def is_parameter_name(text: str) -> bool:
    """Whether it is the name of a parameter of a layer in `TYPES`: "weight", "bias_hh_l0"."""
    return _PARAMETER.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class InitialValues:
    """One call of a function of `nn.init`: `nn.init.normal_(self.fc.weight, std=0.02)`."""

    function: str
    parameter: str
    """Name of the parameter of the layer."""
    row: int | None = None
    """The row of the parameter that is set; None for all."""
    positional: tuple[float, ...] = ()
    keywords: tuple[tuple[str, Any], ...] = ()

    def apply(self, layer: Any) -> None:
        """Set the values of a layer."""
        tensor = getattr(layer, self.parameter)
        function: Any = getattr(init, self.function)
        function(tensor if self.row is None else tensor[self.row], *self.positional, **dict(self.keywords))


def initial_values(key: str, arguments: Mapping[str, Any], *, is_tied: bool = False) -> tuple[InitialValues, ...]:
    """The calls that set the initial weights of a layer; none for the default.

    Args:
        arguments: all arguments of the node
        is_tied: whether the layer uses the weight matrix of another one
    """
    if key not in TYPES:
        return ()
    weights, biases = parameter_names(key, arguments)
    calls: list[InitialValues] = []
    choice = arguments.get(WEIGHT_INIT, DEFAULT)
    if choice != DEFAULT and not is_tied:
        keywords = tuple(
            (argument, arguments[name])
            for name, argument in COMPANIONS[choice].items()
            if arguments[name] != _OMITTED.get(name)
        )
        calls += [InitialValues(f"{choice}_", each, None, (), keywords) for each in weights]
        row = arguments.get("padding_idx")
        if choice != "zeros" and row is not None:
            calls.append(InitialValues("zeros_", "weight", row))
    value = arguments.get(BIAS_INIT)
    if value is not None:
        calls += [_constant(each, float(value)) for each in biases]
    return tuple(calls)


def parameter_names(key: str, arguments: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """The names of the weights and of the biases of a layer."""
    title = key.removeprefix("nn.")
    has_bias = arguments.get("bias", True) is not False and title not in _EMBEDDINGS
    if title in _RECURRENT:
        directions = ("", "_reverse") if arguments.get("bidirectional") else ("",)
        ends = [f"_l{layer}{end}" for layer in range(arguments.get("num_layers", 1)) for end in directions]
        kinds = ("ih", "hh", "hr") if arguments.get("proj_size") else ("ih", "hh")
    else:
        ends, kinds = [""], ("ih", "hh")
    if title not in _RECURRENT and title not in _CELLS:
        return ["weight"], ["bias"] if has_bias else []
    weights = [f"weight_{kind}{end}" for end in ends for kind in kinds]
    return weights, [f"bias_{kind}{end}" for end in ends for kind in ("ih", "hh")] if has_bias else []


def read_values(function: str, given: Mapping[str, Any], *, is_bias: bool) -> dict[str, Any] | None:
    """The parameters that a call stands for, without those at their defaults; None if no parameters express it.

    Args:
        function: name in `nn.init`, such as "normal_"
        given: its arguments by name
    """
    if is_bias:
        values = {"zeros_": 0.0, "ones_": 1.0, "constant_": given.get("val")}
        value = values.get(function)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        is_plain = is_number and set(given) <= ({"val"} if function == "constant_" else set())
        return {BIAS_INIT: value} if is_plain else None
    choice = function.removesuffix("_")
    if choice not in COMPANIONS or choice == DEFAULT or function != f"{choice}_":
        return None
    rest = {name: value for name, value in given.items() if (name, value) not in _NEUTRAL}
    found: dict[str, Any] = {WEIGHT_INIT: choice}
    for name, argument in COMPANIONS[choice].items():
        declared = next(each for each in _DECLARED if each.name == name)
        value = rest.pop(argument, _FUNCTION_DEFAULTS[argument])
        if declared.problem(value) is not None:
            return None
        if value != declared.default:
            found[name] = value
    return None if rest else found


_NEUTRAL = (("a", 0), ("mean", 0), ("generator", None))
"""Arguments of the functions that change nothing."""
_FUNCTION_DEFAULTS = {"mode": "fan_in", "nonlinearity": "leaky_relu", "gain": 1.0, "std": 1.0}


def _constant(parameter: str, value: float) -> InitialValues:
    if value == 0:
        return InitialValues("zeros_", parameter)
    return InitialValues("constant_", parameter, None, (value,))


__all__ = [
    "BIAS_INIT",
    "COMPANIONS",
    "DEFAULT",
    "FUNCTIONS",
    "NAMES",
    "TYPES",
    "WEIGHT_INIT",
    "InitialValues",
    "initial_values",
    "is_parameter_name",
    "parameter_names",
    "parameters_of",
    "read_values",
    "without_initialization",
]
