"""Bags of vectors from a table."""

from __future__ import annotations

from typing import Literal

from engine.dtypes import DType
from engine.errors import ShapeError
from engine.modes import no_grad
from engine.nn import functional as F
from engine.nn import init
from engine.nn.layers.annotations import DeviceArgument
from engine.nn.layers.embedding import check_table, options
from engine.nn.module import Module
from engine.nn.parameter import Parameter
from engine.registry import LAYERS, Positive, Size
from engine.shape import format_shape
from engine.tensors import Tensor
from engine.tensors.creation import empty

Mode = Literal["sum", "mean", "max"]


@LAYERS.register(category="Embedding", tags=("lookup", "bag of words", "vocabulary"))
class EmbeddingBag(Module):
    """Looks up a learned vector for each whole number of a bag, and sums or averages them: ``B×N`` becomes ``B×size``.

    `weight` is ``num_embeddings×embedding_dim`` and starts standard normal.

    Args:
        num_embeddings: size of the table; inputs are 0, …, num_embeddings - 1
        embedding_dim: size of each vector
        max_norm: rows looked up that are longer are shortened to this length
        norm_type: which norm measures the length
        scale_grad_by_freq: divide a row's gradient by how often it was looked up in the batch
        mode: what is made of a bag's vectors
        sparse: without effect; gradients are dense
        include_last_offset: the last offset is the end of the last bag
        padding_idx: the row that starts at 0, is not trained and does not count
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
                raise ValueError(f"padding_idx={padding_idx} is outside the table of {num_embeddings} rows")
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
        """The layer whose table is `embeddings`, trained further unless `freeze`."""
        if embeddings.ndim != 2:
            raise ShapeError(f"a table of embeddings has two dimensions, not {format_shape(embeddings.shape)}")
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
        """Draw new first values."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        """One vector for each bag.

        Args:
            input: ``B×N``, a bag in each row; or all bags one after the other, with `offsets`
            offsets: where each bag begins in a one-dimensional input
            per_sample_weights: factors of the rows, in the shape of the input
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
        text = f"{self.num_embeddings}, {self.embedding_dim}" + options(
            max_norm=(self.max_norm, None),
            norm_type=(self.norm_type, 2),
            scale_grad_by_freq=(self.scale_grad_by_freq, False),
        )
        return f"{text}, mode={self.mode!r}" + options(padding_idx=(self.padding_idx, None))
