"""Translators of recurrent layers. One ONNX op computes a direction of a layer, with its product with the input."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.compiler.fill_op import FILL
from engine.onnx.graph_builder import GraphBuilder, Value
from engine.onnx.translators import NotExpressible, translates
from engine.tracing.traced_graph import TracedValue


@translates("lstm_layer")
def _(g, gates, h, c, weight, projection, batch_sizes, reverse: bool):
    if projection is not None:
        raise NotExpressible("ONNX's LSTM has no projection. Set proj_size to 0")
    y, last, cell = _layer(g, "LSTM", gates, (h, c), weight, None, (0, 3, 1, 2), batch_sizes, reverse=reverse)
    return y, last, cell, None, None


@translates("gru_layer")
def _(g, gates, h, weight, bias, batch_sizes, reverse: bool):
    found = _layer(g, "GRU", gates, (h,), weight, bias, (1, 0, 2), batch_sizes, reverse=reverse, linear_before_reset=1)
    return *found, None, None


@translates("elman_layer")
def _(g, gates, h, weight, nonlinearity: str, batch_sizes, reverse: bool):
    activations = ["Relu" if nonlinearity == "relu" else "Tanh"]
    return _layer(g, "RNN", gates, (h,), weight, None, (0,), batch_sizes, reverse=reverse, activations=activations)


def _layer(
    g: GraphBuilder,
    op_type: str,
    gates: Value,
    states: tuple[Value, ...],
    weight: Value,
    state_bias: Value | None,
    order: tuple[int, ...],
    batch_sizes: Any,
    *,
    reverse: bool,
    **attributes: Any,
) -> tuple[Value, ...]:
    """Outputs and final states. `order`: the engine's gate at each of ONNX's positions."""
    if batch_sizes is not None:
        raise NotExpressible("packed sequences. Export the model with padded sequences of one length")
    hidden: Any = g.spec(weight).shape[0] // len(order)
    x, input_weight, bias = _input_product(g, gates)
    rows = np.concatenate([np.arange(hidden) + gate * hidden for gate in order]).astype(np.int64)

    def ordered(value: Value) -> Value:
        """Gates in ONNX's order, with a dimension for the direction."""
        found = value if order == (0,) else g.op("Gather", value, g.constant(rows), axis=0)
        return g.op("Unsqueeze", found, g.integers(0))

    zeros = g.constant(np.zeros((1, len(rows)), g.dtype(weight).numpy))
    biases = [zeros if one is None else ordered(one) for one in (bias, state_bias)]
    both = None if bias is None and state_bias is None else g.op("Concat", *biases, axis=1)
    start = [None if _is_zero(g, each) else g.op("Unsqueeze", each, g.integers(0)) for each in states]
    y, *last = g.op(
        op_type, x, ordered(input_weight), ordered(weight), both, None, *start,
        outputs=1 + len(states), hidden_size=hidden, direction="reverse" if reverse else None, **attributes,
    )  # fmt: skip
    return g.op("Squeeze", y, g.integers(1)), *(g.op("Squeeze", each, g.integers(0)) for each in last)


def _input_product(g: GraphBuilder, gates: Value) -> tuple[Value, Value, Value | None]:
    """Input, weight and bias of the linear op that computes the gates. Otherwise the gates and an identity."""
    source = g.producer(gates)
    if source is not None and source.name == "linear":
        x, weight, bias = (*(g.operand(each) for each in source.inputs), None)[:3]
        return x, weight, bias
    width: Any = g.spec(gates).shape[-1]
    return gates, g.constant(np.eye(width, dtype=g.dtype(gates).numpy)), None


def _is_zero(g: GraphBuilder, state: Value) -> bool:
    """Whether a state is a slice of zeros, which is ONNX's default."""
    value: TracedValue | None = g.traced.get(state)
    while value is not None and value.producer is not None and value.producer.name in ("slice", "reshape", "narrow"):
        value = next(value.producer.operands)
    source = None if value is None else value.producer
    return source is not None and source.name == FILL.name and source.statics["value"] == 0
