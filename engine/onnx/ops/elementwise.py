"""Translators of elementwise ops."""

from __future__ import annotations

import math
from typing import Any

from engine.dtypes import bool_, int32
from engine.onnx.graph_builder import GraphBuilder, Value
from engine.onnx.translators import TRANSLATORS, NotExpressible, Translator, translates

_SAME = {
    "abs": "Abs", "acos": "Acos", "acosh": "Acosh", "asin": "Asin", "asinh": "Asinh", "atan": "Atan",
    "atanh": "Atanh", "bitwise_not": "BitwiseNot", "ceil": "Ceil", "clone": "Identity", "cos": "Cos",
    "cosh": "Cosh", "erf": "Erf", "exp": "Exp", "floor": "Floor", "isnan": "IsNaN", "log": "Log", "neg": "Neg",
    "reciprocal": "Reciprocal", "relu": "Relu", "sigmoid": "Sigmoid", "sign": "Sign", "sin": "Sin", "sinh": "Sinh",
    "sqrt": "Sqrt", "std": "Sqrt", "tan": "Tan", "tanh": "Tanh", "to_device": "Identity",
    "mul": "Mul", "div": "Div", "pow": "Pow",
}  # fmt: skip
"""Ops that one ONNX op computes, with the same inputs."""
_FOR_BOOLEANS = {"mul": "And", "bitwise_not": "Not", "neg": "Not"}
_COMPARISONS = {"lt": "Less", "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual"}
_LOGIC = {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor"}
_BITS = {"bitwise_and": "And", "bitwise_or": "Or", "bitwise_xor": "Xor"}


def _same(name: str, op_type: str) -> None:
    def translate(g: GraphBuilder, *inputs: Any, **_: Any) -> Value:
        if g.dtype(inputs[0]) == bool_ and op_type in ("Mul", "BitwiseNot", "Neg"):
            return g.op(_FOR_BOOLEANS[name], *inputs)
        if op_type in ("Floor", "Ceil") and g.dtype(inputs[0]).kind < 2:
            return g.op("Identity", *inputs)
        return g.op(op_type, *inputs)

    TRANSLATORS[name] = Translator(translate)


for _name, _op_type in _SAME.items():
    _same(_name, _op_type)

# -- arithmetic


@translates("add")
def _(g, x, y, alpha: float):
    if g.dtype(x) == bool_:
        return g.op("Or", x, y)
    return g.op("Add", x, y if alpha == 1 else g.op("Mul", y, alpha))


@translates("sub")
def _(g, x, y, alpha: float):
    return g.op("Sub", x, y if alpha == 1 else g.op("Mul", y, alpha))


@translates("square")
def _(g, x):
    return g.op("Mul", x, x)


@translates("rsqrt")
def _(g, x):
    return g.op("Reciprocal", g.op("Sqrt", x))


@translates("floor_divide")
def _(g, x, y):
    if g.dtype(x).kind == 2:
        return g.op("Floor", g.op("Div", x, y))
    return g.op("Div", g.op("Sub", x, g.op("Mod", x, y)), y)  # ONNX rounds toward zero


@translates("div_trunc")
def _(g, x, y):
    quotient = g.op("Div", x, y)
    return truncate(g, quotient) if g.dtype(x).kind == 2 else quotient


@translates("remainder")
def _(g, x, y):
    if g.dtype(x).kind < 2:
        return g.op("Mod", x, y)
    rest = g.op("Mod", x, y, fmod=1)
    differs = g.op("Less", g.op("Mul", g.op("Sign", rest), g.op("Sign", y)), 0)
    return g.op("Where", differs, g.op("Add", rest, y), rest)


@translates("fmod")
def _(g, x, y):
    return g.op("Mod", x, y, fmod=1)


@translates("maximum")
def _(g, x, y):
    return g.op("Or", x, y) if g.dtype(x) == bool_ else g.op("Max", x, y)


@translates("minimum")
def _(g, x, y):
    return g.op("And", x, y) if g.dtype(x) == bool_ else g.op("Min", x, y)


@translates("clamp_min")
def _(g, x, min):
    return g.op("Max", x, min)


@translates("clamp_max")
def _(g, x, max):
    return g.op("Min", x, max)


@translates("clamp")
def _(g, x, low: float | None, high: float | None):
    dtype = g.dtype(x)
    return g.op("Clip", x, *(None if bound is None else g.number(bound, dtype) for bound in (low, high)))


def _other_if_nan(g: GraphBuilder, op_type: str, x: Value, y: Value) -> Value:
    if g.dtype(x).kind < 2:
        return g.op(op_type, x, y)
    both = g.op(op_type, x, y)
    return g.op("Where", g.op("IsNaN", x), y, g.op("Where", g.op("IsNaN", y), x, both))


@translates("fmax")
def _(g, x, y):
    return _other_if_nan(g, "Max", x, y)


@translates("fmin")
def _(g, x, y):
    return _other_if_nan(g, "Min", x, y)


@translates("lerp")
def _(g, x, end, weight):
    return g.op("Add", x, g.op("Mul", weight, g.op("Sub", end, x)))


@translates("addcmul")
def _(g, x, tensor1, tensor2, value: float):
    return g.op("Add", x, g.op("Mul", g.op("Mul", tensor1, tensor2), value))


@translates("addcdiv")
def _(g, x, tensor1, tensor2, value: float):
    return g.op("Add", x, g.op("Mul", g.op("Div", tensor1, tensor2), value))


@translates("addcdiv_sqrt")
def _(g, x, y, z, eps: float, value: float):
    return g.op("Add", x, g.op("Mul", g.op("Div", y, g.op("Add", g.op("Sqrt", z), eps)), value))


@translates("hypot")
def _(g, x, y):
    return g.op("Sqrt", g.op("Add", g.op("Mul", x, x), g.op("Mul", y, y)))


@translates("masked_scale")
def _(g, x, keep, p: float):
    return g.op("Mul", x, g.op("Mul", g.cast(keep, g.dtype(x)), 0.0 if p == 1 else 1 / (1 - p)))


# -- rounding, signs


def truncate(g: GraphBuilder, x: Value) -> Value:
    """Round toward zero; ONNX has no operator for it."""
    return g.op("Where", g.op("Less", x, 0), g.op("Ceil", x), g.op("Floor", x))


@translates("trunc")
def _(g, x):
    return truncate(g, x) if g.dtype(x).kind == 2 else g.op("Identity", x)


@translates("frac")
def _(g, x):
    return g.op("Sub", x, truncate(g, x))


@translates("round")
def _(g, x, decimals: int):
    if g.dtype(x).kind < 2:
        return g.op("Identity", x)
    if not decimals:
        return g.op("Round", x)
    return g.op("Div", g.op("Round", g.op("Mul", x, 10.0**decimals)), 10.0**decimals)


def _is_negative(g: GraphBuilder, x: Value) -> Value:
    """Whether the sign bit is set, also for −0."""
    if g.dtype(x).kind < 2:
        return g.op("Less", x, 0)
    return g.op("Or", g.op("Less", x, 0), g.op("Equal", g.op("Reciprocal", x), -math.inf))


@translates("signbit")
def _(g, x):
    if g.dtype(x) == bool_:
        return g.op("And", x, g.op("Not", x))
    return _is_negative(g, x)


@translates("copysign")
def _(g, x, y):
    size = g.op("Abs", x)
    return g.op("Where", _is_negative(g, y), g.op("Neg", size), size)


@translates("heaviside")
def _(g, x, values):
    step = g.cast(g.op("Greater", x, 0), g.dtype(x))
    return g.op("Where", g.op("Equal", x, 0), values, step)


# -- exponential functions


@translates("exp2")
def _(g, x):
    return g.op("Pow", g.number(2, g.dtype(x)), x)


def _small(g: GraphBuilder, x: Value) -> Value:
    return g.op("Less", g.op("Abs", x), 0.5)


@translates("expm1")
def _(g, x):
    t = g.op("Tanh", g.op("Mul", x, 0.5))  # e^x − 1 = 2t / (1 − t), which is exact near 0
    near = g.op("Div", g.op("Mul", t, 2), g.op("Sub", g.number(1, g.dtype(x)), t))
    return g.op("Where", _small(g, x), near, g.op("Sub", g.op("Exp", x), 1))


@translates("log1p")
def _(g, x):
    return log1p(g, x)


def log1p(g: GraphBuilder, x: Value) -> Value:
    """ln(1 + x) = 2 artanh(x / (2 + x)), which is exact near 0."""
    near = g.op("Mul", g.op("Atanh", g.op("Div", x, g.op("Add", x, 2))), 2)
    return g.op("Where", _small(g, x), near, g.op("Log", g.op("Add", x, 1)))


@translates("log2")
def _(g, x):
    return g.op("Mul", g.op("Log", x), 1 / math.log(2))


@translates("log10")
def _(g, x):
    return g.op("Mul", g.op("Log", x), 1 / math.log(10))


def _log_of_sum(g: GraphBuilder, x: Value, y: Value, base: float) -> Value:
    scale = math.log(base)
    distance = g.op("Mul", g.op("Abs", g.op("Sub", x, y)), -scale)
    return g.op("Add", g.op("Max", x, y), g.op("Div", log1p(g, g.op("Exp", distance)), scale))


@translates("logaddexp")
def _(g, x, y):
    return _log_of_sum(g, x, y, math.e)


@translates("logaddexp2")
def _(g, x, y):
    return _log_of_sum(g, x, y, 2)


@translates("erfc")
def _(g, x):
    return g.op("Sub", g.number(1, g.dtype(x)), g.op("Erf", x))


@translates("xlogy")
def _(g, x, y):
    product = g.op("Mul", x, g.op("Log", y))
    return g.op("Where", g.op("And", g.op("Equal", x, 0), g.op("Not", g.op("IsNaN", y))), 0.0, product)


@translates("sinc")
def _(g, x):
    angle = g.op("Mul", x, math.pi)
    return g.op("Where", g.op("Equal", x, 0), g.number(1, g.dtype(x)), g.op("Div", g.op("Sin", angle), angle))


@translates("atan2")
def _(g, x, y):
    angle = g.op("Atan", g.op("Div", x, y))
    half_turn = g.op("Where", _is_negative(g, x), g.number(-math.pi, g.dtype(x)), g.number(math.pi, g.dtype(x)))
    found = g.op("Where", g.op("Less", y, 0), g.op("Add", angle, half_turn), angle)
    on_axis = g.op("And", g.op("Equal", x, 0), g.op("Not", _is_negative(g, y)))
    return g.op("Where", on_axis, x, found)


# -- comparison and logic


@translates("eq")
def _(g, x, y):
    return g.op("Equal", x, y)


@translates("ne")
def _(g, x, y):
    return g.op("Not", g.op("Equal", x, y))


def _comparison(name: str, op_type: str) -> None:
    @translates(name)
    def _(g, x, y):
        x, y = (g.cast(each, int32) if g.dtype(each) == bool_ else each for each in (x, y))
        return g.op(op_type, x, y)


def _logic(name: str, op_type: str) -> None:
    @translates(name)
    def _(g, x, y):
        return g.op(op_type, g.cast(x, bool_), g.cast(y, bool_))


def _bits(name: str, op_type: str) -> None:
    @translates(name)
    def _(g, x, y):
        return g.op(op_type if g.dtype(x) == bool_ else f"Bitwise{op_type}", x, y)


for _name, _op_type in _COMPARISONS.items():
    _comparison(_name, _op_type)
for _name, _op_type in _LOGIC.items():
    _logic(_name, _op_type)
for _name, _op_type in _BITS.items():
    _bits(_name, _op_type)


@translates("logical_not")
def _(g, x):
    return g.op("Not", g.cast(x, bool_))


@translates("isclose")
def _(g, x, y, rtol: float, atol: float, equal_nan: bool):
    allowed = g.op("Add", g.op("Mul", g.op("Abs", y), rtol), atol)
    near = g.op("LessOrEqual", g.op("Abs", g.op("Sub", x, y)), allowed)
    if g.dtype(x).kind < 2:
        return near
    finite = g.op("Not", g.op("IsInf", y))
    found = g.op("Or", g.op("Equal", x, y), g.op("And", near, finite))
    if not equal_nan:
        return found
    return g.op("Or", found, g.op("And", g.op("IsNaN", x), g.op("IsNaN", y)))


def _never(g: GraphBuilder, x: Value) -> Value:
    return g.full(g.spec(x).shape, False, bool_)


@translates("isinf")
def _(g, x):
    return g.op("IsInf", x) if g.dtype(x).kind == 2 else _never(g, x)


@translates("isposinf")
def _(g, x):
    return g.op("IsInf", x, detect_negative=0) if g.dtype(x).kind == 2 else _never(g, x)


@translates("isneginf")
def _(g, x):
    return g.op("IsInf", x, detect_positive=0) if g.dtype(x).kind == 2 else _never(g, x)


@translates("isfinite")
def _(g, x):
    if g.dtype(x).kind < 2:
        return g.op("Not", _never(g, x))
    return g.op("Not", g.op("Or", g.op("IsInf", x), g.op("IsNaN", x)))


@translates("isreal")
def _(g, x):
    return g.op("Not", _never(g, x))


def _shift_factor(g: GraphBuilder, x: Value, y: Value) -> Value:
    if g.dtype(x).name not in ("int32", "int64"):
        raise NotExpressible(f"onnxruntime has no powers of {g.dtype(x).name}, which shifts need")
    return g.op("Pow", g.number(2, g.dtype(x)), y)


@translates("bitwise_left_shift")
def _(g, x, y):
    return g.op("Mul", x, _shift_factor(g, x, y))


@translates("bitwise_right_shift")
def _(g, x, y):
    factor = _shift_factor(g, x, y)
    return g.op("Div", g.op("Sub", x, g.op("Mod", x, factor)), factor)


# -- selection, copies


@translates("where")
def _(g, condition, x, y):
    dtype = g.result.dtype
    return g.op("Where", g.cast(condition, bool_), g.cast(x, dtype), g.cast(y, dtype))


@translates("assign")
def _(g, x, y):
    return g.expand(g.cast(y, g.result.dtype), g.result.shape)


# -- activations


@translates("leaky_relu")
def _(g, x, negative_slope: float):
    return g.op("LeakyRelu", x, alpha=float(negative_slope))


@translates("relu_backward")
def _(g, x, y, slope: float):
    return g.op("Where", g.op("Greater", y, 0), x, g.op("Mul", x, slope))


@translates("elu")
def _(g, x, height: float, width: float):
    if width == 1:
        return g.op("Elu", x, alpha=float(height))
    if width == height:
        return g.op("Celu", x, alpha=float(width))
    negative = g.op("Mul", g.op("Elu", g.op("Div", g.op("Min", x, 0.0), width), alpha=1.0), height)
    return g.op("Where", g.op("Greater", x, 0), x, negative)


@translates("softplus")
def _(g, x, beta: float, threshold: float):
    scaled = x if beta == 1 else g.op("Mul", x, beta)
    smooth = g.op("Softplus", scaled)
    smooth = smooth if beta == 1 else g.op("Div", smooth, beta)
    if threshold >= 20:  # the difference is below 3e-9
        return smooth
    return g.op("Where", g.op("Greater", scaled, threshold), x, smooth)


@translates("gelu")
def _(g, x, approximate: str):
    if g.opset >= 20:
        return g.op("Gelu", x, approximate=approximate), None
    if approximate == "tanh":
        cubic = g.op("Mul", g.op("Mul", g.op("Mul", x, x), x), 0.044715)
        share = g.op("Tanh", g.op("Mul", g.op("Add", x, cubic), math.sqrt(2 / math.pi)))
    else:
        share = g.op("Erf", g.op("Mul", x, math.sqrt(0.5)))
    return g.op("Mul", g.op("Mul", x, 0.5), g.op("Add", share, 1)), None
