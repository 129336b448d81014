"""A table of learned vectors."""

from __future__ import annotations

from typing import Any

from engine.dtypes import DType
from engine.errors import ShapeError
from engine.modes import no_grad
from engine.nn import functional as F
from engine.nn import init
from engine.nn.layers.annotations import DeviceArgument
from engine.nn.module import Module
from engine.nn.parameter import Parameter
from engine.registry import LAYERS, Positive, Size
from engine.shape import format_shape
from engine.tensors import Tensor
from engine.tensors.creation import empty


@LAYERS.register(category="Embedding", tags=("lookup", "token", "word", "vocabulary"))
class Embedding(Module):
    """Looks up a learned vector for each whole number: ``…`` becomes ``…×embedding_dim``.

    `weight` is ``num_embeddings×embedding_dim`` and starts standard normal.

    Args:
        num_embeddings: size of the table; inputs are 0, …, num_embeddings - 1
        embedding_dim: size of each vector
        padding_idx: the row that starts at 0 and is not trained
        max_norm: rows looked up that are longer are shortened to this length
        norm_type: which norm measures the length
        scale_grad_by_freq: divide a row's gradient by how often it was looked up in the batch
        sparse: without effect; gradients are dense
    """

    def __init__(
        self,
        num_embeddings: Size,
        embedding_dim: Size,
        padding_idx: int | None = None,
        max_norm: Positive | None = None,
        norm_type: Positive = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: Any = False,
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
        self.padding_idx = padding_idx
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        if _weight is None:
            table = empty(num_embeddings, embedding_dim, device=device, dtype=dtype)
            self.weight = Parameter(table, requires_grad=not _freeze)
            self.reset_parameters()
        else:
            check_table(_weight, num_embeddings, embedding_dim)
            self.weight = Parameter(_weight, requires_grad=not _freeze)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:
        """The layer whose table is `embeddings`, trained further unless `freeze`."""
        if embeddings.ndim != 2:
            raise ShapeError(f"a table of embeddings has two dimensions, not {format_shape(embeddings.shape)}")
        rows, width = embeddings.shape
        return cls(
            rows, width, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, embeddings, _freeze=freeze
        )

    def reset_parameters(self) -> None:
        """Draw new first values."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse
        )

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        return text + options(
            padding_idx=(self.padding_idx, None),
            max_norm=(self.max_norm, None),
            norm_type=(self.norm_type, 2),
            scale_grad_by_freq=(self.scale_grad_by_freq, False),
            sparse=(self.sparse, False),
        )


def options(**values: tuple[Any, Any]) -> str:
    """``, name=value`` of those that differ from the usual one, for a layer's text."""
    return "".join(f", {name}={value}" for name, (value, usual) in values.items() if value != usual)


def check_table(weight: Tensor, rows: int, width: int) -> None:
    """Raises ShapeError unless `weight` is ``rows×width``."""
    if tuple(weight.shape) != (rows, width):
        raise ShapeError(f"the table given is {format_shape(weight.shape)}, but the layer has {rows}×{width}")
