"""A table of learned vectors."""

from __future__ import annotations

from engine.creation import empty
from engine.dtypes import DType
from engine.modes import no_grad
from engine.nn import functional as F
from engine.nn import init
from engine.nn.layers.annotations import AnyDevice
from engine.nn.module import Module
from engine.nn.parameter import Parameter
from engine.registry import LAYERS, Size
from engine.tensor import Tensor


@LAYERS.register(category="Embedding", tags=("lookup", "token", "word", "vocabulary"))
class Embedding(Module):
    """Looks up a learned vector for each whole number: ``…`` becomes ``…×embedding_dim``.

    `weight` is ``num_embeddings×embedding_dim`` and starts standard normal.

    Args:
        num_embeddings: size of the table; inputs are 0, …, num_embeddings - 1
        embedding_dim: size of each vector
        padding_idx: the row that starts at 0 and is not trained
    """

    def __init__(
        self,
        num_embeddings: Size,
        embedding_dim: Size,
        padding_idx: int | None = None,
        *,
        device: AnyDevice = None,
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
        self.weight = Parameter(empty(num_embeddings, embedding_dim, device=device, dtype=dtype))
        self.reset_parameters()

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None) -> Embedding:
        """The layer whose table is `embeddings`, trained further unless `freeze`."""
        rows, width = embeddings.shape
        layer = cls(rows, width, padding_idx, device="meta")
        layer.weight = Parameter(embeddings, requires_grad=not freeze)
        return layer

    def reset_parameters(self) -> None:
        """Draw new first values."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(input, self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"
