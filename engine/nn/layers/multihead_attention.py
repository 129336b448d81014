"""Multi-head attention."""

from __future__ import annotations

from typing import Annotated

from engine.dtypes import DType
from engine.nn import functional as F
from engine.nn import init
from engine.nn.layers.annotations import BatchFirst, DeviceArgument
from engine.nn.layers.linear import Linear
from engine.nn.module import Module
from engine.nn.parameter import Parameter
from engine.registry import LAYERS, FromInput, Probability, Size
from engine.tensors import Tensor
from engine.tensors.creation import empty


@LAYERS.register(
    category="Attention", outputs=("output", "weights"), tags=("transformer", "self attention", "query key value")
)
class MultiheadAttention(Module):
    """Multi-head attention: ``softmax(Q Kᵀ / √d) V`` in `num_heads` heads, each with learned projections.

    Query ``(L, N, E)``, key ``(S, N, kdim)`` and value ``(S, N, vdim)`` give the output ``(L, N, E)`` and the attention
    weights ``(N, L, S)``. With `batch_first`, N is the first dimension. Source: Vaswani et al., arXiv 1706.03762.

    Args:
        embed_dim: size E of queries and output
        num_heads: number of heads; must divide `embed_dim`
        dropout: dropout probability of the attention weights
        bias: learn biases in the projections
        add_bias_kv: append a learned key and value to each sequence
        add_zero_attn: append a zero key and value to each sequence
        kdim: size of the keys (default: `embed_dim`)
        vdim: size of the values (default: `embed_dim`)
        batch_first: use (N, L, E) instead of (L, N, E) for inputs and output
    """

    def __init__(
        self,
        embed_dim: Annotated[Size, FromInput(-1)],
        num_heads: Size,
        dropout: Probability = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: Size | None = None,
        vdim: Size | None = None,
        batch_first: BatchFirst = False,
        device: DeviceArgument = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"embed_dim={embed_dim} must be divisible by num_heads={num_heads}. Change either.")
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.add_zero_attn = add_zero_attn
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim

        def parameter(*shape: int) -> Parameter:
            return Parameter(empty(shape, device=device, dtype=dtype))

        same = self._qkv_same_embed_dim
        self.register_parameter("q_proj_weight", None if same else parameter(embed_dim, embed_dim))
        self.register_parameter("k_proj_weight", None if same else parameter(embed_dim, self.kdim))
        self.register_parameter("v_proj_weight", None if same else parameter(embed_dim, self.vdim))
        self.register_parameter("in_proj_weight", parameter(3 * embed_dim, embed_dim) if same else None)
        self.register_parameter("in_proj_bias", parameter(3 * embed_dim) if bias else None)
        self.out_proj = Linear(embed_dim, embed_dim, bias, device=device, dtype=dtype)
        self.bias_k = parameter(1, 1, embed_dim) if add_bias_kv else None
        self.bias_v = parameter(1, 1, embed_dim) if add_bias_kv else None
        self._reset_parameters()

    @property
    def _qkv_same_embed_dim(self) -> bool:
        return self.kdim == self.embed_dim and self.vdim == self.embed_dim

    def _reset_parameters(self) -> None:
        """Reinitialize the parameters."""
        for weight in (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight, self.in_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        for bias in (self.in_proj_bias, self.out_proj.bias):
            if bias is not None:
                init.zeros_(bias)
        for extra in (self.bias_k, self.bias_v):
            if extra is not None:
                init.xavier_normal_(extra)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Compute the output and the attention weights (averaged over heads if `average_attn_weights` is true).

        Args:
            query: queries
            key: keys
            value: values
            key_padding_mask: ``(N, S)``, true at keys to ignore
            attn_mask: ``(L, S)`` or ``(N·heads, L, S)``; true where attention is not allowed, or numbers added to the
                scores
        """
        transposed = self.batch_first and query.ndim == 3
        if transposed:
            same = query is key and key is value
            query = query.transpose(0, 1)
            key = query if same else key.transpose(0, 1)
            value = query if same else value.transpose(0, 1)
        output, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return output.transpose(0, 1) if transposed else output, weights
