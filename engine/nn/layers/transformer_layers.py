"""Transformer encoder and decoder layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

from engine.dtypes import DType
from engine.nn import functional as F
from engine.nn.layers.annotations import BatchFirst, DeviceArgument, Width
from engine.nn.layers.dropout import Dropout
from engine.nn.layers.layer_norm import LayerNorm
from engine.nn.layers.linear import Linear
from engine.nn.layers.multihead_attention import MultiheadAttention
from engine.nn.module import Module
from engine.registry import LAYERS, FromInput, Positive, Probability, Size
from engine.tensors import Tensor

Activation = Literal["relu", "gelu"] | Callable[[Tensor], Tensor]


def activation_function(activation: Activation) -> Callable[[Tensor], Tensor]:
    """Activation function for a name; functions are returned unchanged."""
    if callable(activation):
        return activation
    found = {"relu": F.relu, "gelu": F.gelu}.get(activation)
    if found is None:
        raise RuntimeError(f'activation must be "relu", "gelu" or a function, not {activation!r}')
    return found


@LAYERS.register(category="Attention", tags=("transformer", "encoder", "self attention"))
class TransformerEncoderLayer(Module):
    """Transformer encoder layer, self-attention and feedforward network: ``(L, N, d_model) → (L, N, d_model)``.

    Both sublayers have dropout, a residual connection and layer norm. Source: Vaswani et al., arXiv 1706.03762.

    Args:
        d_model: size of the last dimension of the input
        nhead: number of attention heads; must divide `d_model`
        dim_feedforward: hidden size of the feedforward network
        dropout: dropout probability of sublayers and attention weights
        activation: activation of the feedforward network; in scripts also a function
        layer_norm_eps: term added to the variance in layer normalization
        batch_first: use (N, L, d_model) instead of (L, N, d_model) for inputs and output
        norm_first: apply layer norm before attention and feedforward instead of after
        bias: learn biases in linear layers and layer norms
    """

    def __init__(
        self,
        d_model: Annotated[Size, FromInput(-1)],
        nhead: Size,
        dim_feedforward: Width = 2048,
        dropout: Probability = 0.1,
        activation: Activation = "relu",
        layer_norm_eps: Positive = 1e-5,
        batch_first: BatchFirst = False,
        norm_first: bool = False,
        bias: bool = True,
        device: DeviceArgument = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        factory_kwargs = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **factory_kwargs)
        self.linear1 = Linear(d_model, dim_feedforward, bias, **factory_kwargs)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **factory_kwargs)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, **factory_kwargs)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, **factory_kwargs)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.activation = activation_function(activation)

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Compute the output of the layer.

        Args:
            src: input sequences
            src_mask: attention mask; true where attention is not allowed, or numbers that are added to the scores
            src_key_padding_mask: ``(N, L)``, true at positions to ignore
        """
        if self.norm_first:
            src = src + self._self_attend(self.norm1(src), src_mask, src_key_padding_mask, is_causal)
            return src + self._feed_forward(self.norm2(src))
        src = self.norm1(src + self._self_attend(src, src_mask, src_key_padding_mask, is_causal))
        return self.norm2(src + self._feed_forward(src))

    def _self_attend(self, x: Tensor, mask: Tensor | None, padding: Tensor | None, is_causal: bool) -> Tensor:
        found, _ = self.self_attn(
            x, x, x, key_padding_mask=padding, need_weights=False, attn_mask=mask, is_causal=is_causal
        )
        return self.dropout1(found)

    def _feed_forward(self, x: Tensor) -> Tensor:
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


@LAYERS.register(category="Attention", tags=("transformer", "decoder", "cross attention"))
class TransformerDecoderLayer(Module):
    """Transformer decoder layer: self-attention, attention to the encoder output, feedforward network.

    The target ``(T, N, d_model)`` and the encoder output (memory) ``(S, N, d_model)`` give ``(T, N, d_model)``. Each
    sublayer has dropout, a residual connection and layer norm. Source: Vaswani et al., arXiv 1706.03762.

    Args:
        d_model: size of the last dimension of the input
        nhead: number of attention heads; must divide `d_model`
        dim_feedforward: hidden size of the feedforward network
        dropout: dropout probability of sublayers and attention weights
        activation: activation of the feedforward network; in scripts also a function
        layer_norm_eps: term added to the variance in layer normalization
        batch_first: use (N, L, d_model) instead of (L, N, d_model) for inputs and output
        norm_first: apply layer norm before attention and feedforward instead of after
        bias: learn biases in linear layers and layer norms
    """

    def __init__(
        self,
        d_model: Annotated[Size, FromInput(-1)],
        nhead: Size,
        dim_feedforward: Width = 2048,
        dropout: Probability = 0.1,
        activation: Activation = "relu",
        layer_norm_eps: Positive = 1e-5,
        batch_first: BatchFirst = False,
        norm_first: bool = False,
        bias: bool = True,
        device: DeviceArgument = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        factory_kwargs = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **factory_kwargs)
        self.multihead_attn = MultiheadAttention(
            d_model, nhead, dropout, bias, batch_first=batch_first, **factory_kwargs
        )
        self.linear1 = Linear(d_model, dim_feedforward, bias, **factory_kwargs)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **factory_kwargs)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, **factory_kwargs)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, **factory_kwargs)
        self.norm3 = LayerNorm(d_model, layer_norm_eps, bias=bias, **factory_kwargs)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.dropout3 = Dropout(dropout)
        self.activation = activation_function(activation)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Compute the output of the layer.

        Args:
            tgt: target sequences
            memory: output of the encoder
            tgt_mask: self-attention mask; true where attention is not allowed, or numbers that are added to the scores
            memory_mask: mask of the attention to the memory
            tgt_key_padding_mask: ``(N, T)``, true at target positions to ignore
            memory_key_padding_mask: ``(N, S)``, true at memory positions to ignore
        """

        def attend_to_self(x: Tensor) -> Tensor:
            found = self.self_attn(
                x,
                x,
                x,
                attn_mask=tgt_mask,
                key_padding_mask=tgt_key_padding_mask,
                is_causal=tgt_is_causal,
                need_weights=False,
            )
            return self.dropout1(found[0])

        def attend_to_memory(x: Tensor) -> Tensor:
            found = self.multihead_attn(
                x,
                memory,
                memory,
                attn_mask=memory_mask,
                key_padding_mask=memory_key_padding_mask,
                is_causal=memory_is_causal,
                need_weights=False,
            )
            return self.dropout2(found[0])

        x = tgt
        for part, norm in (
            (attend_to_self, self.norm1),
            (attend_to_memory, self.norm2),
            (self._feed_forward, self.norm3),
        ):
            x = x + part(norm(x)) if self.norm_first else norm(x + part(x))
        return x

    def _feed_forward(self, x: Tensor) -> Tensor:
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))
