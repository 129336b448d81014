"""Layers of gated recurrent units."""

from __future__ import annotations

from typing import Annotated

from engine.dtypes import DType
from engine.nn.functional import recurrent
from engine.nn.functional.recurrent import Weights
from engine.nn.layers.annotations import DeviceArgument
from engine.nn.layers.rnn_base import Result, RNNBase
from engine.registry import LAYERS, FromInput, Probability, Repeats, Size
from engine.tensors import Tensor


@LAYERS.register(category="Recurrent", outputs=("output", "state"), tags=("recurrent", "sequence", "gated"))
class GRU(RNNBase):
    """Gated recurrent units: a state of which each step renews a part (Cho et al., arXiv 1406.1078).

    ``T×N×input_size`` (steps × batch × features) becomes ``T×N×hidden_size`` and the last states. Weights start uniform
    in ``±1/√hidden_size``.

    Args:
        input_size: features of each step
        hidden_size: features of the state
        num_layers: layers on top of each other, each reading the one below
        bias: learn offsets
        batch_first: input and output are batch × step × feature instead of step × batch × feature
        dropout: probability of dropping between layers
        bidirectional: run a second time from the end, and join both results
    """

    gates = 3
    states = 1

    def __init__(
        self,
        input_size: Annotated[Size, FromInput(-1)],
        hidden_size: Size,
        num_layers: Repeats = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: Probability = 0.0,
        bidirectional: bool = False,
        device: DeviceArgument = None,
        dtype: DType | None = None,
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
        )

    def _run(
        self, x: Tensor, state: tuple[Tensor, ...], weights: Weights, sizes: tuple[int, ...] | None, reverse: bool
    ) -> Result:
        return recurrent.gru(x, state, weights, sizes, reverse)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The last layer's results, and every layer's last state.

        Args:
            input: the sequences, padded, or a `PackedSequence` in code
            hx: the first states, ``layers × batch × hidden_size``; zeros if absent
        """
        output, (last,) = self._forward(input, None if hx is None else (hx,))
        return output, last
