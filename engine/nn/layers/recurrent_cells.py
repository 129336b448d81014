"""Single steps of recurrent networks, for custom loops."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from engine.dtypes import DType
from engine.errors import ShapeError
from engine.nn import init
from engine.nn.functional import recurrent
from engine.nn.functional.recurrent import RecurrentWeights
from engine.nn.layers.annotations import DeviceArgument
from engine.nn.module import Module
from engine.nn.parameter import Parameter
from engine.registry import LAYERS, FromInput, Size
from engine.shape import format_shape
from engine.tensors import Tensor
from engine.tensors.creation import empty, zeros


class RNNCellBase(Module):
    """Base of recurrent cells: parameters and input checks."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: DeviceArgument = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(empty(rows, input_size, device=device, dtype=dtype))
        self.weight_hh = Parameter(empty(rows, hidden_size, device=device, dtype=dtype))
        self.bias_ih = Parameter(empty(rows, device=device, dtype=dtype)) if bias else None
        self.bias_hh = Parameter(empty(rows, device=device, dtype=dtype)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reinitialize the parameters."""
        bound = 1 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def _weights(self) -> RecurrentWeights:
        return RecurrentWeights(self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)

    def _state(self, input: Tensor, hx: Tensor | None) -> Tensor:
        """`hx` (default: zeros), after checking the shapes of both."""
        name = type(self).__name__
        if input.ndim not in (1, 2):
            raise ShapeError(f"{name}: the input must be batch × features or features, not {format_shape(input.shape)}")
        if input.shape[-1] != self.input_size:
            raise ShapeError(
                f"{name}: expected {self.input_size} features in the last dimension, got {input.shape[-1]}. "
                f"Set input_size to {input.shape[-1]}, or change the input."
            )
        expected = (*input.shape[:-1], self.hidden_size)
        if hx is None:
            return zeros(expected, dtype=input.dtype, device=input.device)
        if tuple(hx.shape) != expected:
            raise ShapeError(f"{name}: the hidden state must be {format_shape(expected)}, not {format_shape(hx.shape)}")
        return hx

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        return text if self.bias else f"{text}, bias=False"


@LAYERS.register(category="Recurrent", tags=("recurrent", "step"))
class RNNCell(RNNCellBase):
    """One step of an Elman network: ``h' = tanh(W x + b + U h + c)``.

    ``(N, input_size)`` and a hidden state ``(N, hidden_size)`` give the next hidden state. Weights are initialized
    uniformly in ``±1/√hidden_size``.

    Args:
        input_size: features of the input
        hidden_size: size of the hidden state
        bias: learn biases
        nonlinearity: activation function
    """

    def __init__(
        self,
        input_size: Annotated[Size, FromInput(-1)],
        hidden_size: Size,
        bias: bool = True,
        nonlinearity: Literal["tanh", "relu"] = "tanh",
        device: DeviceArgument = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device=device, dtype=dtype)
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f'nonlinearity must be "tanh" or "relu", not {nonlinearity!r}')
        self.nonlinearity: Literal["tanh", "relu"] = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Compute the next hidden state.

        Args:
            input: input of this time step
            hx: previous hidden state (default: zeros)
        """
        return recurrent.rnn_step(input, self._state(input, hx), self._weights(), self.nonlinearity)

    def extra_repr(self) -> str:
        text = super().extra_repr()
        return text if self.nonlinearity == "tanh" else f"{text}, nonlinearity={self.nonlinearity}"


@LAYERS.register(category="Recurrent", outputs=("state", "cell"), tags=("recurrent", "step", "memory"))
class LSTMCell(RNNCellBase):
    """One step of long short-term memory, LSTM (Hochreiter and Schmidhuber, 1997).

    ``(N, input_size)``, hidden and cell state ``(N, hidden_size)`` give the next hidden and cell state. Weights are
    initialized uniformly in ``±1/√hidden_size``.

    Args:
        input_size: features of the input
        hidden_size: size of the hidden state
        bias: learn biases
    """

    def __init__(
        self,
        input_size: Annotated[Size, FromInput(-1)],
        hidden_size: Size,
        bias: bool = True,
        device: DeviceArgument = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """Compute the next (hidden state, cell state).

        Args:
            input: input of this time step
            hx: previous (hidden state, cell state) (default: zeros)
        """
        state = (self._state(input, None if hx is None else hx[0]), self._state(input, None if hx is None else hx[1]))
        return recurrent.lstm_step(input, state, self._weights())


@LAYERS.register(category="Recurrent", tags=("recurrent", "step", "gated"))
class GRUCell(RNNCellBase):
    """One step of a gated recurrent unit, GRU (Cho et al., arXiv 1406.1078).

    ``(N, input_size)`` and a hidden state ``(N, hidden_size)`` give the next hidden state. Weights are initialized
    uniformly in ``±1/√hidden_size``.

    Args:
        input_size: features of the input
        hidden_size: size of the hidden state
        bias: learn biases
    """

    def __init__(
        self,
        input_size: Annotated[Size, FromInput(-1)],
        hidden_size: Size,
        bias: bool = True,
        device: DeviceArgument = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Compute the next hidden state.

        Args:
            input: input of this time step
            hx: previous hidden state (default: zeros)
        """
        return recurrent.gru_step(input, self._state(input, hx), self._weights())
