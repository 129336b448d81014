"""Transformer encoder, decoder and the full encoder-decoder model."""

from __future__ import annotations

import copy
from typing import Annotated

from engine.dtypes import DType
from engine.functions import where
from engine.nn import init
from engine.nn.containers.module_list import ModuleList
from engine.nn.layers.annotations import BatchFirst, DeviceArgument
from engine.nn.layers.layer_norm import LayerNorm
from engine.nn.layers.transformer_layers import Activation, TransformerDecoderLayer, TransformerEncoderLayer
from engine.nn.module import Module
from engine.registry import LAYERS, AnyRepeats, FromInput, Positive, Probability, Size
from engine.tensors import Tensor
from engine.tensors.creation import arange, zeros


class TransformerEncoder(Module):
    """Stack of `num_layers` copies of an encoder layer, with an optional final `norm`.

    `enable_nested_tensor` and `mask_check` are accepted for compatibility and have no effect.
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(encoder_layer) for _ in range(num_layers)])
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        for layer in self.layers:
            src = layer(src, src_mask=mask, src_key_padding_mask=src_key_padding_mask, is_causal=bool(is_causal))
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """Stack of `num_layers` copies of a decoder layer, with an optional final `norm`."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(decoder_layer) for _ in range(num_layers)])
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        for layer in self.layers:
            tgt = layer(
                tgt,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=bool(tgt_is_causal),
                memory_is_causal=memory_is_causal,
            )
        return tgt if self.norm is None else self.norm(tgt)


@LAYERS.register(category="Attention", tags=("encoder", "decoder", "translation", "sequence to sequence"))
class Transformer(Module):
    """Transformer encoder-decoder: source ``(S, N, d_model)`` and target ``(T, N, d_model)`` give ``(T, N, d_model)``.

    The decoder attends to the output of the encoder. Weights are initialized by Glorot's rule. Source: Vaswani et al.,
    arXiv 1706.03762.

    Args:
        d_model: size of the last dimension of source and target
        nhead: number of attention heads; must divide `d_model`
        num_encoder_layers: number of encoder layers
        num_decoder_layers: number of decoder layers
        dim_feedforward: hidden size of the feedforward networks
        dropout: dropout probability
        activation: activation of the feedforward networks; in scripts also a function
        layer_norm_eps: term added to the variance in layer normalization
        batch_first: use (N, L, d_model) instead of (L, N, d_model) for inputs and output
        norm_first: apply layer norm before attention and feedforward instead of after
        bias: learn biases in linear layers and layer norms
    """

    def __init__(
        self,
        d_model: Annotated[Size, FromInput(-1)] = 512,
        nhead: Size = 8,
        num_encoder_layers: AnyRepeats = 6,
        num_decoder_layers: AnyRepeats = 6,
        dim_feedforward: Size = 2048,
        dropout: Probability = 0.1,
        activation: Activation = "relu",
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: Positive = 1e-5,
        batch_first: BatchFirst = False,
        norm_first: bool = False,
        bias: bool = True,
        device: DeviceArgument = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        sizes = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)

        def norm() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)

        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*sizes, device=device, dtype=dtype), num_encoder_layers, norm()
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*sizes, device=device, dtype=dtype), num_decoder_layers, norm()
        )
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        """Reinitialize the parameters."""
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Compute the output of the decoder.

        Args:
            src: source sequences, input of the encoder
            tgt: target sequences, input of the decoder
            src_mask: attention mask of the encoder; true where attention is not allowed, or numbers that are added to
                the scores
            tgt_mask: self-attention mask of the decoder; usually `generate_square_subsequent_mask`
            memory_mask: mask of the decoder's attention to the encoder output
            src_key_padding_mask: ``(N, S)``, true at source positions to ignore
            tgt_key_padding_mask: ``(N, T)``, true at target positions to ignore
            memory_key_padding_mask: ``(N, S)``, true at positions of the encoder output to ignore
        """
        batch = 0 if self.batch_first else 1
        if src.ndim == 3 and src.shape[batch] != tgt.shape[batch]:
            raise RuntimeError(
                f"Transformer: src and tgt must have the same batch size, not {src.shape[batch]} and {tgt.shape[batch]}"
            )
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: DeviceArgument = None, dtype: DType | None = None) -> Tensor:
        """Causal mask ``(sz, sz)``: 0 where attention is allowed, −∞ at later positions."""
        position = arange(sz, device=device)
        return where(position > position.unsqueeze(-1), float("-inf"), zeros((), device=device, dtype=dtype))
