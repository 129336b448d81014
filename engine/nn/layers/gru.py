"""Gated recurrent unit."""

from __future__ import annotations

from typing import Annotated

from engine.dtypes import DType
from engine.nn.functional import recurrent
from engine.nn.functional.recurrent import RecurrentWeights
from engine.nn.layers.annotations import BatchFirst, DeviceArgument, Width
from engine.nn.layers.rnn_base import Result, RNNBase
from engine.registry import LAYERS, FromInput, Probability, Repeats, Size
from engine.tensors import Tensor


@LAYERS.register(category="Recurrent", outputs=("output", "state"), tags=("recurrent", "sequence", "gated"))
class GRU(RNNBase):
    """Gated recurrent unit (GRU): ``(T, N, input_size) → (T, N, hidden_size)``.

    T is the number of time steps. The second output is the final hidden state of each layer. Weights are initialized
    uniformly in ``±1/√hidden_size``. Source: Cho et al., arXiv 1406.1078.

    Args:
        input_size: features per time step
        hidden_size: size of the hidden state
        num_layers: number of stacked layers
        bias: learn biases
        batch_first: use (N, T, features) instead of (T, N, features) for input and output
        dropout: dropout probability between stacked layers
        bidirectional: process the sequence in both directions and concatenate the outputs
        carry_state: start each batch with the final state of the previous one, without its gradient; for loaders whose
            batches continue each other
    """

    gates = 3
    states = 1

    def __init__(
        self,
        input_size: Annotated[Size, FromInput(-1)],
        hidden_size: Width,
        num_layers: Repeats = 1,
        bias: bool = True,
        batch_first: BatchFirst = False,
        dropout: Probability = 0.0,
        bidirectional: bool = False,
        device: DeviceArgument = None,
        dtype: DType | None = None,
        *,
        carry_state: bool = False,
    ) -> None:
        super().__init__(
            "GRU",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            device=device,
            dtype=dtype,
            carry_state=carry_state,
        )

    def _run(
        self,
        x: Tensor,
        state: tuple[Tensor, ...],
        weights: RecurrentWeights,
        sizes: tuple[int, ...] | None,
        reverse: bool,
    ) -> Result:
        return recurrent.gru(x, state, weights, sizes, reverse)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Output of the last layer, and the final hidden state of each layer.

        Args:
            input: input sequences, padded, or a `PackedSequence`
            hx: initial hidden states ``(layers, batch, hidden_size)`` (default: zeros)
        """
        output, (last,) = self._forward(input, None if hx is None else (hx,))
        return output, last
