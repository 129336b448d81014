"""Embedding layer."""

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
    """Lookup of learned vectors by index: ``(*) → (*, embedding_dim)``.

    `weight` is ``(num_embeddings, embedding_dim)``, initialized from the standard normal distribution.

    Args:
        num_embeddings: number of rows; valid indices are 0 to num_embeddings - 1
        embedding_dim: size of each embedding vector
        padding_idx: index of the padding row, which is initialized to 0 and not trained
        max_norm: upper bound of the norm; looked-up rows with a larger norm are rescaled in place
        norm_type: exponent of the norm for `max_norm`
        scale_grad_by_freq: divide each row's gradient by its number of lookups in the batch
        sparse: accepted for compatibility; gradients are dense
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
                raise ValueError(f"padding_idx={padding_idx} is out of range for {num_embeddings} embeddings")
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
        """Layer with the weight `embeddings`, which is trained unless `freeze` is set."""
        if embeddings.ndim != 2:
            raise ShapeError(f"embeddings must have two dimensions, but have shape {format_shape(embeddings.shape)}")
        rows, width = embeddings.shape
        return cls(
            rows, width, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, embeddings, _freeze=freeze
        )

    def reset_parameters(self) -> None:
        """Reinitialize the parameters."""
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
        return text + non_default_options(
            padding_idx=(self.padding_idx, None),
            max_norm=(self.max_norm, None),
            norm_type=(self.norm_type, 2),
            scale_grad_by_freq=(self.scale_grad_by_freq, False),
            sparse=(self.sparse, False),
        )


def non_default_options(**values: tuple[Any, Any]) -> str:
    """``, name=value`` of values that differ from their default, for `extra_repr`."""
    return "".join(f", {name}={value}" for name, (value, default) in values.items() if value != default)


def check_table(weight: Tensor, rows: int, width: int) -> None:
    """Raise ShapeError unless `weight` has shape ``(rows, width)``."""
    if tuple(weight.shape) != (rows, width):
        raise ShapeError(f"_weight has shape {format_shape(weight.shape)}, but the layer requires {rows}×{width}")
