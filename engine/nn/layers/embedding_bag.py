"""Embedding layer that reduces bags of indices."""

from __future__ import annotations

from typing import Literal

from engine.dtypes import DType
from engine.errors import ShapeError
from engine.modes import no_grad
from engine.nn import functional as F
from engine.nn import init
from engine.nn.layers.annotations import DeviceArgument
from engine.nn.layers.embedding import check_table, non_default_options
from engine.nn.module import Module
from engine.nn.parameter import Parameter
from engine.registry import LAYERS, Positive, Size
from engine.shape import format_shape
from engine.tensors import Tensor
from engine.tensors.creation import empty

Mode = Literal["sum", "mean", "max"]


@LAYERS.register(category="Embedding", tags=("lookup", "bag of words", "vocabulary"))
class EmbeddingBag(Module):
    """Sum, mean or maximum of the embeddings of each bag of indices: ``(B, N) → (B, embedding_dim)``.

    `weight` is ``(num_embeddings, embedding_dim)``, initialized from the standard normal distribution.

    Args:
        num_embeddings: number of rows; valid indices are 0 to num_embeddings - 1
        embedding_dim: size of each embedding vector
        max_norm: upper bound of the norm; looked-up rows with a larger norm are rescaled in place
        norm_type: exponent of the norm for `max_norm`
        scale_grad_by_freq: divide each row's gradient by its number of lookups in the batch
        mode: reduction of each bag
        sparse: accepted for compatibility; gradients are dense
        include_last_offset: `offsets` ends with the end of the last bag
        padding_idx: index of the padding row, which is initialized to 0, not trained and left out of the reduction
    """

    def __init__(
        self,
        num_embeddings: Size,
        embedding_dim: Size,
        max_norm: Positive | None = None,
        norm_type: Positive = 2.0,
        scale_grad_by_freq: bool = False,
        mode: Mode = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: DeviceArgument = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise ValueError(f"padding_idx={padding_idx} is out of range for {num_embeddings} embeddings")
            padding_idx %= num_embeddings
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.mode: Mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset
        self.padding_idx = padding_idx
        if _weight is None:
            self.weight = Parameter(empty(num_embeddings, embedding_dim, device=device, dtype=dtype))
            self.reset_parameters()
        else:
            check_table(_weight, num_embeddings, embedding_dim)
            self.weight = Parameter(_weight)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: Mode = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> EmbeddingBag:
        """Layer with the weight `embeddings`, which is trained unless `freeze` is set."""
        if embeddings.ndim != 2:
            raise ShapeError(f"embeddings must have two dimensions, but have shape {format_shape(embeddings.shape)}")
        rows, width = embeddings.shape
        layer = cls(
            rows,
            width,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            mode,
            sparse,
            embeddings,
            include_last_offset,
            padding_idx,
        )
        layer.weight.requires_grad_(not freeze)
        return layer

    def reset_parameters(self) -> None:
        """Reinitialize the parameters."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        """Reduce each bag to one vector.

        Args:
            input: indices ``(B, N)``, one bag per row; or one-dimensional, with `offsets`
            offsets: start index of each bag in a one-dimensional input
            per_sample_weights: weights of the looked-up rows, in the shape of the input; mode "sum" only
        """
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}" + non_default_options(
            max_norm=(self.max_norm, None),
            norm_type=(self.norm_type, 2),
            scale_grad_by_freq=(self.scale_grad_by_freq, False),
        )
        return f"{text}, mode={self.mode!r}" + non_default_options(padding_idx=(self.padding_idx, None))
