"""Scaled dot-product attention and multi-head attention (Vaswani et al., arXiv 1706.03762)."""

from __future__ import annotations

import math

from engine.errors import DTypeError, ShapeError
from engine.functions import cat, where
from engine.nn.functional.dropout import dropout
from engine.nn.functional.linear import linear
from engine.ops.attention_weights import attention_weights
from engine.shape import Dim, format_shape
from engine.tensors import Tensor


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """``softmax(scale · Q Kᵀ + mask) V`` of ``(*, L, E)``, ``(*, S, E)`` and ``(*, S, V)``: ``(*, L, V)``.

    Args:
        query: queries
        key: keys
        value: values
        attn_mask: true where attention is allowed, or numbers added to the scores; broadcasts to ``(*, L, S)``
        dropout_p: dropout probability of the attention weights; always applied, so pass 0 in evaluation
        is_causal: apply a causal mask, which hides later keys; not together with `attn_mask`
        scale: factor of the scores (default: ``1/√E``)
        enable_gqa: grouped-query attention: several query heads (dimension -3) share a key and value head
    """
    if is_causal and attn_mask is not None:
        raise ValueError("scaled_dot_product_attention: attn_mask and is_causal=True cannot both be given")
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    if not enable_gqa or query.shape[-3] == key.shape[-3]:
        weights = attention_weights(query, key, attn_mask, scale=scale, causal=is_causal)
        return (dropout(weights, dropout_p) if dropout_p else weights) @ value
    heads, shared = query.shape[-3], key.shape[-3]
    if heads % shared or shared != value.shape[-3]:
        raise ShapeError(
            f"scaled_dot_product_attention: the number of query heads ({heads}) must be a multiple of the number "
            f"of key heads ({shared}) and value heads ({value.shape[-3]})"
        )
    grouped = query.unflatten(-3, (shared, heads // shared))
    if attn_mask is not None and attn_mask.ndim > 2:
        size = attn_mask.shape[-3]
        attn_mask = attn_mask.unsqueeze(-3) if size == 1 else attn_mask.unflatten(-3, (shared, heads // shared))
    weights = attention_weights(grouped, key.unsqueeze(-3), attn_mask, scale=scale, causal=is_causal)
    out = (dropout(weights, dropout_p) if dropout_p else weights) @ value.unsqueeze(-3)
    return out.flatten(-4, -3)


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Multi-head attention with given projection weights; see `nn.MultiheadAttention`.

    Inputs: ``(L, N, E)``, or ``(L, E)`` without batch. Boolean masks are true where attention is *not* allowed; other
    masks are added to the scores. `static_k` and `static_v`, ``(N·heads, S, head_dim)``, replace the projected keys and
    values.
    """
    batched = query.ndim == 3
    _check_inputs(query, key, value, embed_dim_to_check, num_heads)
    if is_causal and attn_mask is None:
        raise ValueError("multi_head_attention_forward: is_causal=True requires attn_mask. Pass both.")
    if not batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    projections = _projections(
        (in_proj_weight, q_proj_weight, k_proj_weight, v_proj_weight), in_proj_bias, use_separate_proj_weight
    )
    self_attention = query is key and key is value and in_proj_weight is not None and not use_separate_proj_weight
    if self_attention:
        q, k, v = linear(query, in_proj_weight, in_proj_bias).chunk(3, -1)  # pyright: ignore[reportArgumentType]
    else:
        q, k, v = (linear(x, w, b) for x, w, b in zip((query, key, value), *projections, strict=True))
    length, batch, width = q.shape
    if bias_k is not None and bias_v is not None:
        k = cat([k, bias_k.expand(1, batch, width)])
        v = cat([v, bias_v.expand(1, batch, width)])
    q, k, v = (_split_heads(x, num_heads) for x in (q, k, v))
    k = k if static_k is None else static_k.unflatten(0, (batch, num_heads))
    v = v if static_v is None else static_v.unflatten(0, (batch, num_heads))
    if add_zero_attn:
        k, v = (cat([x, x.new_zeros((batch, num_heads, 1, x.shape[-1]))], dim=2) for x in (k, v))
    mask = _combine_masks(attn_mask, key_padding_mask, (batch, num_heads, length, k.shape[2]), q)
    scale = 1 / math.sqrt(q.shape[-1])
    weights = attention_weights(q, k, mask, scale=scale, empty_rows=not need_weights)
    weights = dropout(weights, dropout_p, training) if dropout_p else weights
    out = (weights @ v).permute((2, 0, 1, 3)).reshape((length, batch, width))
    out = linear(out, out_proj_weight, out_proj_bias)
    out = out if batched else out.squeeze(1)
    if not need_weights:
        return out, None
    weights = weights.mean(1) if average_attn_weights else weights
    return out, weights if batched else weights.squeeze(0)


def _check_inputs(query: Tensor, key: Tensor, value: Tensor, width: int, heads: int) -> None:
    shapes = " and ".join(format_shape(x.shape) for x in (query, key, value))
    if query.ndim not in (2, 3) or key.ndim != query.ndim or value.ndim != query.ndim:
        raise ShapeError(f"attention: query, key and value must have 3 dimensions, or 2 without batch, not {shapes}")
    if query.shape[-1] != width:
        raise ShapeError(f"attention: embed_dim is {width}, but queries have size {query.shape[-1]}: {shapes}")
    if key.shape[:-1] != value.shape[:-1]:
        raise ShapeError(f"attention: the numbers of keys and values must be equal, not {shapes}")
    if width % heads:
        raise ValueError(f"attention: embed_dim={width} must be divisible by num_heads={heads}")


def _projections(
    weights: tuple[Tensor | None, ...], bias: Tensor | None, separate: bool
) -> tuple[tuple[Tensor, ...], tuple[Tensor | None, ...]]:
    in_proj, *separate_weights = weights
    weight_parts = tuple(separate_weights) if separate or in_proj is None else in_proj.chunk(3)
    if any(weight is None for weight in weight_parts):
        raise ValueError("attention: pass in_proj_weight, or all of q_proj_weight, k_proj_weight and v_proj_weight")
    return weight_parts, (None, None, None) if bias is None else bias.chunk(3)  # pyright: ignore[reportReturnType]


def _split_heads(x: Tensor, heads: int) -> Tensor:
    """``(L, N, E)`` reshaped to ``(N, heads, L, E/heads)``."""
    return x.unflatten(-1, (heads, x.shape[-1] // heads)).permute((1, 2, 0, 3))


def _combine_masks(
    attn_mask: Tensor | None, key_padding_mask: Tensor | None, shape: tuple[int, int, int, int], like: Tensor
) -> Tensor | None:
    """Combine both masks to one that broadcasts to ``(N, heads, L, S)``: true where allowed, or numbers to add."""
    batch, heads, length, keys = shape
    masks: list[Tensor] = []
    if attn_mask is not None:
        _check_mask("attn_mask", attn_mask)
        if attn_mask.ndim == 3:
            _check_sizes("attn_mask", attn_mask, ((batch * heads, length),))
            attn_mask = attn_mask.unflatten(0, (batch, heads))
        else:
            _check_sizes("attn_mask", attn_mask, ((length,),))
        masks.append(attn_mask)
    if key_padding_mask is not None:
        _check_mask("key_padding_mask", key_padding_mask)
        _check_sizes("key_padding_mask", key_padding_mask, ((batch,),))
        masks.append(key_padding_mask.unsqueeze(1).unsqueeze(1))
    masks = [_extend_mask(mask, keys) for mask in masks]
    if all(mask.dtype.kind == 0 for mask in masks):
        masks = [mask.logical_not() for mask in masks]
        return masks[0] & masks[1] if len(masks) == 2 else masks[0] if masks else None
    added = [where(m, float("-inf"), like.new_zeros(())) if m.dtype.kind == 0 else m.to(like.dtype) for m in masks]
    return added[0] + added[1] if len(added) == 2 else added[0]


def _extend_mask(mask: Tensor, keys: int) -> Tensor:
    """Extend a mask by the keys that the module appends (bias, zeros), which are allowed."""
    missing = keys - mask.shape[-1]
    if isinstance(missing, Dim) or missing == 0:
        return mask
    free = mask.new_zeros((*mask.shape[:-1], missing))
    return cat([mask, free], dim=-1)


def _check_mask(name: str, mask: Tensor) -> None:
    if mask.dtype.kind == 1:
        raise DTypeError(
            f"attention: {name} must be boolean (true: forbidden) or floating point, not {mask.dtype.name}"
        )


def _check_sizes(name: str, mask: Tensor, allowed: tuple[tuple[int, ...], ...]) -> None:
    if tuple(mask.shape[:-1]) not in allowed:
        expected = " or ".join(f"{format_shape(shape)}×keys" for shape in allowed)
        raise ShapeError(f"attention: {name} must be {expected}, not {format_shape(mask.shape)}")
