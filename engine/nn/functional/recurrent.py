"""Layers of recurrent units over sequences, and single steps of them."""

from __future__ import annotations

from engine.autograd import grad
from engine.nn.functional.linear import linear
from engine.ops.recurrent.elman import Nonlinearity, elman_layer
from engine.ops.recurrent.gru import gru_cell, gru_layer
from engine.ops.recurrent.lstm import lstm_cell, lstm_layer
from engine.ops.recurrent.recurrent_steps import DIFFERENTIATION, BatchSizes
from engine.tensors import Tensor

DIFFERENTIATION.grad = grad


class Weights:
    """Parameters of one direction of one layer."""

    __slots__ = ("input", "input_bias", "projection", "state", "state_bias")

    def __init__(
        self,
        input: Tensor,
        state: Tensor,
        input_bias: Tensor | None = None,
        state_bias: Tensor | None = None,
        projection: Tensor | None = None,
    ) -> None:
        self.input, self.state, self.projection = input, state, projection
        self.input_bias, self.state_bias = input_bias, state_bias

    @property
    def bias(self) -> Tensor | None:
        """Both biases, where the unit only adds them."""
        if self.input_bias is None or self.state_bias is None:
            return self.input_bias
        return self.input_bias + self.state_bias


def lstm(
    x: Tensor, state: tuple[Tensor, ...], weights: Weights, batch_sizes: BatchSizes, reverse: bool
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """T×N×I and (hidden, cell) to the results T×N×H and the last (hidden, cell)."""
    gates = linear(x, weights.input, weights.bias)
    out, h, c, _, _ = lstm_layer(
        gates, *state, weights.state, weights.projection, batch_sizes=batch_sizes, reverse=reverse
    )
    return out, (h, c)


def gru(
    x: Tensor, state: tuple[Tensor, ...], weights: Weights, batch_sizes: BatchSizes, reverse: bool
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """T×N×I and (hidden,) to the results T×N×H and the last (hidden,)."""
    gates = linear(x, weights.input, weights.input_bias)
    out, h, _, _ = gru_layer(gates, *state, weights.state, weights.state_bias, batch_sizes=batch_sizes, reverse=reverse)
    return out, (h,)


def rnn(
    x: Tensor,
    state: tuple[Tensor, ...],
    weights: Weights,
    batch_sizes: BatchSizes,
    reverse: bool,
    nonlinearity: Nonlinearity,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """T×N×I and (hidden,) to the results T×N×H and the last (hidden,)."""
    gates = linear(x, weights.input, weights.bias)
    out, h = elman_layer(
        gates, *state, weights.state, nonlinearity=nonlinearity, batch_sizes=batch_sizes, reverse=reverse
    )
    return out, (h,)


def rnn_step(x: Tensor, h: Tensor, weights: Weights, nonlinearity: Nonlinearity) -> Tensor:
    """The new state of simple recurrent units."""
    found = linear(x, weights.input, weights.bias) + linear(h, weights.state)
    return found.tanh() if nonlinearity == "tanh" else found.relu()


def lstm_step(x: Tensor, state: tuple[Tensor, Tensor], weights: Weights) -> tuple[Tensor, Tensor]:
    """The new (hidden, cell) of long short-term memory."""
    h, c = state
    return lstm_cell(linear(x, weights.input, weights.bias) + linear(h, weights.state), c)


def gru_step(x: Tensor, h: Tensor, weights: Weights) -> Tensor:
    """The new state of gated recurrent units."""
    of_input = linear(x, weights.input, weights.input_bias)
    return gru_cell(of_input, linear(h, weights.state, weights.state_bias), h)
