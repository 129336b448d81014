"""Base of recurrent layers: parameters, stacked layers, directions, packed sequences."""

from __future__ import annotations

import math
import warnings
from typing import Any, cast

from engine.dtypes import DType
from engine.errors import ShapeError
from engine.functions import cat, stack
from engine.nn import functional as F
from engine.nn import init
from engine.nn.containers.module_list import ModuleList
from engine.nn.functional.recurrent import RecurrentWeights
from engine.nn.layers.annotations import DeviceArgument
from engine.nn.layers.carried_state import CarriedState
from engine.nn.module import Module
from engine.nn.parameter import Parameter
from engine.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence
from engine.shape import format_shape
from engine.tensors import Tensor
from engine.tensors.creation import empty, zeros

Result = tuple[Tensor, tuple[Tensor, ...]]


class RNNBase(Module):
    """Base of `RNN`, `LSTM` and `GRU`, which document the arguments."""

    mode: str
    gates: int
    """Number of gates; their matrices are stacked in one weight."""
    states: int = 1
    """Number of state tensors: 1, or 2 with a cell state."""

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: DeviceArgument = None,
        dtype: DType | None = None,
        carry_state: bool = False,
    ) -> None:
        super().__init__()
        if not 0 <= dropout <= 1:
            raise ValueError(f"dropout must be a probability between 0 and 1, not {dropout}")
        if dropout > 0 and num_layers == 1:
            warnings.warn(
                f"dropout={dropout} applies between layers, but num_layers is 1. Set num_layers to 2, or dropout to 0.",
                stacklevel=3,
            )
        if hidden_size < 1 or num_layers < 1:
            raise ValueError(f"hidden_size={hidden_size} and num_layers={num_layers} must be at least 1")
        if not 0 <= proj_size < hidden_size:
            raise ValueError(f"proj_size={proj_size} must be smaller than hidden_size={hidden_size}; 0 disables it")
        if proj_size and self.states == 1:
            raise ValueError(f"{mode} does not support proj_size={proj_size}; only LSTM does. Set proj_size to 0.")
        if carry_state and bidirectional:
            raise ValueError(
                f"{mode} cannot carry its state if it is bidirectional, because the reverse direction starts at the "
                "end of each batch. Turn carry_state off, or bidirectional."
            )
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        out = proj_size or hidden_size
        rows = self.gates * hidden_size
        for layer in range(num_layers):
            width = input_size if layer == 0 else out * self._directions
            for suffix in self._suffixes(layer):
                shapes = {"weight_ih": (rows, width), "weight_hh": (rows, out)}
                shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)} if bias else {}
                shapes |= {"weight_hr": (proj_size, hidden_size)} if proj_size else {}
                for name, shape in shapes.items():
                    self.register_parameter(f"{name}{suffix}", Parameter(empty(shape, device=device, dtype=dtype)))
        self.carried_states: ModuleList | None = None
        if carry_state:
            own = (CarriedState((num_layers, size), dim=1, dtype=dtype) for size in self._state_sizes())
            self.carried_states = ModuleList(own)
        self.reset_parameters()

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    def _suffixes(self, layer: int) -> tuple[str, ...]:
        return (f"_l{layer}", f"_l{layer}_reverse")[: self._directions]

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """Parameters of each layer and direction."""
        return [[self._parameters[name] for name in names] for names in self._weight_names()]

    @property
    def _flat_weights_names(self) -> list[str]:
        """Names of all weights, which PyTorch code iterates over to initialize a layer."""
        return [name for names in self._weight_names() for name in names]

    def _weight_names(self) -> list[list[str]]:
        kinds = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")
        suffixes = (suffix for layer in range(self.num_layers) for suffix in self._suffixes(layer))
        return [[kind + suffix for kind in kinds if kind + suffix in self._parameters] for suffix in suffixes]

    def reset_parameters(self) -> None:
        """Reinitialize the parameters."""
        bound = 1 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def flatten_parameters(self) -> None:
        """Do nothing; in PyTorch, make the parameters contiguous for cuDNN."""

    def _weights(self, suffix: str) -> RecurrentWeights:
        parameters = self._parameters
        return RecurrentWeights(
            parameters["weight_ih" + suffix],
            parameters["weight_hh" + suffix],
            parameters.get("bias_ih" + suffix),
            parameters.get("bias_hh" + suffix),
            parameters.get("weight_hr" + suffix),
        )

    def _run(
        self,
        x: Tensor,
        state: tuple[Tensor, ...],
        weights: RecurrentWeights,
        sizes: tuple[int, ...] | None,
        reverse: bool,
    ) -> Result:
        """Run one direction of one layer."""
        raise NotImplementedError

    def _forward(self, input: Any, hx: tuple[Tensor, ...] | None) -> tuple[Any, tuple[Tensor, ...]]:
        """Run all layers on an input (T, N, I), batch-first, without batch, or packed."""
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        if input.ndim not in (2, 3):
            raise ShapeError(
                f"{self.mode}: the input must have 3 dimensions, or 2 without batch, not {format_shape(input.shape)}"
            )
        batched = input.ndim == 3
        x = input.transpose(0, 1) if self.batch_first and batched else input
        x = x if batched else x.unsqueeze(1)
        self._check(x, hx, batched)
        if hx is not None and not batched:
            hx = tuple(part.unsqueeze(1) for part in hx)
        output, last = self._run_carried(x, hx, None)
        if not batched:
            return output.squeeze(1), tuple(part.squeeze(1) for part in last)
        return output.transpose(0, 1) if self.batch_first else output, last

    def _forward_packed(self, input: PackedSequence, hx: tuple[Tensor, ...] | None) -> tuple[Any, tuple[Tensor, ...]]:
        sorted_only = PackedSequence(input.data, input.batch_sizes)
        x, lengths = pad_packed_sequence(sorted_only)
        if input.sorted_indices is not None and hx is not None:
            hx = tuple(part.index_select(1, input.sorted_indices) for part in hx)
        self._check(x, hx, True)
        output, last = self._run_carried(x, hx, tuple(int(size) for size in input.batch_sizes.tolist()))
        data = pack_padded_sequence(output, lengths).data
        if input.unsorted_indices is not None:
            last = tuple(part.index_select(1, input.unsorted_indices) for part in last)
        return PackedSequence(data, input.batch_sizes, input.sorted_indices, input.unsorted_indices), last

    def _run_carried(
        self, x: Tensor, hx: tuple[Tensor, ...] | None, sizes: tuple[int, ...] | None
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Run all layers from the carried states unless `hx` is given, and keep the final states."""
        if self.carried_states is None:
            return self._run_layers(x, hx, sizes)
        carried = cast("list[CarriedState]", list(self.carried_states))
        if hx is None:
            hx = tuple(state.read(x.shape[1], x).to(x.dtype) for state in carried)
        output, last = self._run_layers(x, hx, sizes)
        for state, value in zip(carried, last, strict=True):
            state.keep(value)
        return output, last

    def _run_layers(
        self, x: Tensor, hx: tuple[Tensor, ...] | None, sizes: tuple[int, ...] | None
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        hx = self._zero_state(x) if hx is None else hx
        last: list[tuple[Tensor, ...]] = []
        for layer in range(self.num_layers):
            results: list[Tensor] = []
            for direction, suffix in enumerate(self._suffixes(layer)):
                index = layer * self._directions + direction
                state = tuple(part[index] for part in hx)
                output, state = self._run(x, state, self._weights(suffix), sizes, direction == 1)
                results.append(output)
                last.append(state)
            x = results[0] if len(results) == 1 else cat(results, dim=-1)
            if self.dropout and layer < self.num_layers - 1:
                x = F.dropout(x, self.dropout, self.training)
        return x, tuple(stack(parts) for parts in zip(*last, strict=True))

    def _state_sizes(self) -> tuple[int, ...]:
        return (self.proj_size or self.hidden_size, self.hidden_size)[: self.states]

    def _zero_state(self, x: Tensor) -> tuple[Tensor, ...]:
        rows = self.num_layers * self._directions
        return tuple(zeros(rows, x.shape[1], size, dtype=x.dtype, device=x.device) for size in self._state_sizes())

    def _check(self, x: Tensor, hx: tuple[Tensor, ...] | None, batched: bool) -> None:
        if x.shape[-1] != self.input_size:
            raise ShapeError(
                f"{self.mode}: expected {self.input_size} features in the last dimension, got {x.shape[-1]}. "
                f"Set input_size to {x.shape[-1]}, or change the input."
            )
        if x.shape[0] == 0:
            raise ShapeError(f"{self.mode}: the sequence has no time steps")
        names = ("hx", "cx") if self.states == 2 else ("hx",)
        for name, part, size in zip(names, hx or (), self._state_sizes(), strict=False):
            rows = self.num_layers * self._directions
            expected = (rows, x.shape[1], size) if batched else (rows, size)
            if tuple(part.shape) != expected:
                raise ShapeError(
                    f"{self.mode}: {name} must be {format_shape(expected)} (layers and directions × batch × size), "
                    f"not {format_shape(part.shape)}"
                )

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        for name, value, default in (
            ("proj_size", self.proj_size, 0),
            ("num_layers", self.num_layers, 1),
            ("bias", self.bias, True),
            ("batch_first", self.batch_first, False),
            ("dropout", self.dropout, 0.0),
            ("bidirectional", self.bidirectional, False),
            ("carry_state", self.carried_states is not None, False),
        ):
            text += f", {name}={value}" if value != default else ""
        return text
