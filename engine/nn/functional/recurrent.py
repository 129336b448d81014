"""Recurrent layers over sequences, and their single steps."""

from __future__ import annotations

from engine.autograd import grad
from engine.nn.functional.linear import linear
from engine.ops.recurrent.elman import Nonlinearity, elman_layer
from engine.ops.recurrent.gru import gru_cell, gru_layer
from engine.ops.recurrent.lstm import lstm_cell, lstm_layer
from engine.ops.recurrent.recurrent_steps import DIFFERENTIATION, BatchSizes
from engine.tensors import Tensor

DIFFERENTIATION.grad = grad


class RecurrentWeights:
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
        """Sum of both biases, for units that only add them."""
        if self.input_bias is None or self.state_bias is None:
            return self.input_bias
        return self.input_bias + self.state_bias


def lstm(
    x: Tensor, state: tuple[Tensor, ...], weights: RecurrentWeights, batch_sizes: BatchSizes, reverse: bool
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """LSTM over ``(T, N, I)`` from (hidden, cell): output ``(T, N, H)`` and final (hidden, cell)."""
    gates = linear(x, weights.input, weights.bias)
    out, h, c, _, _ = lstm_layer(
        gates, *state, weights.state, weights.projection, batch_sizes=batch_sizes, reverse=reverse
    )
    return out, (h, c)


def gru(
    x: Tensor, state: tuple[Tensor, ...], weights: RecurrentWeights, batch_sizes: BatchSizes, reverse: bool
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """GRU over ``(T, N, I)`` from (hidden,): output ``(T, N, H)`` and final (hidden,)."""
    gates = linear(x, weights.input, weights.input_bias)
    out, h, _, _ = gru_layer(gates, *state, weights.state, weights.state_bias, batch_sizes=batch_sizes, reverse=reverse)
    return out, (h,)


def rnn(
    x: Tensor,
    state: tuple[Tensor, ...],
    weights: RecurrentWeights,
    batch_sizes: BatchSizes,
    reverse: bool,
    nonlinearity: Nonlinearity,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Elman network over ``(T, N, I)`` from (hidden,): output ``(T, N, H)`` and final (hidden,)."""
    gates = linear(x, weights.input, weights.bias)
    out, h = elman_layer(
        gates, *state, weights.state, nonlinearity=nonlinearity, batch_sizes=batch_sizes, reverse=reverse
    )
    return out, (h,)


def rnn_step(x: Tensor, h: Tensor, weights: RecurrentWeights, nonlinearity: Nonlinearity) -> Tensor:
    """Next hidden state of an Elman network."""
    found = linear(x, weights.input, weights.bias) + linear(h, weights.state)
    return found.tanh() if nonlinearity == "tanh" else found.relu()


def lstm_step(x: Tensor, state: tuple[Tensor, Tensor], weights: RecurrentWeights) -> tuple[Tensor, Tensor]:
    """Next (hidden, cell) of an LSTM."""
    h, c = state
    return lstm_cell(linear(x, weights.input, weights.bias) + linear(h, weights.state), c)


def gru_step(x: Tensor, h: Tensor, weights: RecurrentWeights) -> Tensor:
    """Next hidden state of a GRU."""
    input_gates = linear(x, weights.input, weights.input_bias)
    return gru_cell(input_gates, linear(h, weights.state, weights.state_bias), h)
