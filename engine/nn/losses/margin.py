"""Metric-learning and ranking losses."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal, TypeAlias

from engine.nn import functional as F
from engine.nn.functional.reduction import Deprecated, Reduction
from engine.nn.losses.loss import Loss
from engine.registry import LOSSES, NonNegative, Positive
from engine.tensors import Tensor

GROUP = "Embeddings"


@LOSSES.register(category=GROUP, title="Hinge embedding", tags=("metric learning",))
class HingeEmbeddingLoss(Loss):
    """Hinge loss of distances: ``x`` for targets 1, ``max(0, margin - x)`` for targets -1.

    Args:
        margin: distance from which pairs with target -1 have no loss
        reduction: reduction over the elements: mean, sum, or none for the unreduced losses
    """

    def __init__(
        self,
        margin: float = 1.0,
        size_average: Deprecated = None,
        reduce: Deprecated = None,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.hinge_embedding_loss(input, target, self.margin, reduction=self.reduction)


@LOSSES.register(category=GROUP, title="Cosine embedding", tags=("metric learning", "similarity"))
class CosineEmbeddingLoss(Loss):
    """Cosine loss of vector pairs: ``1 - cos`` for targets 1, ``max(0, cos - margin)`` for targets -1.

    Args:
        margin: cosine similarity below which pairs with target -1 have no loss
        reduction: reduction over the pairs: mean, sum, or none for the unreduced losses
    """

    def __init__(
        self,
        margin: float = 0.0,
        size_average: Deprecated = None,
        reduce: Deprecated = None,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.cosine_embedding_loss(input1, input2, target, self.margin, reduction=self.reduction)


@LOSSES.register(category=GROUP, title="Margin ranking", tags=("ranking",))
class MarginRankingLoss(Loss):
    """Ranking loss: ``max(0, -y (x₁ - x₂) + margin)``, with target 1 if ``x₁`` should rank higher and -1 if lower.

    Args:
        margin: required difference between the inputs
        reduction: reduction over the elements: mean, sum, or none for the unreduced losses
    """

    def __init__(
        self,
        margin: float = 0.0,
        size_average: Deprecated = None,
        reduce: Deprecated = None,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.margin_ranking_loss(input1, input2, target, self.margin, reduction=self.reduction)


@LOSSES.register(category=GROUP, title="Triplet margin", tags=("metric learning", "siamese"))
class TripletMarginLoss(Loss):
    """Triplet loss: ``max(0, d(anchor, positive) - d(anchor, negative) + margin)``.

    Source: Balntas et al., BMVC 2016.

    Args:
        margin: required difference between the two distances
        p: exponent of the norm of the distance
        eps: term added to the difference for numerical stability
        swap: use the distance from positive to negative if it is smaller than from anchor to negative
        reduction: reduction over the triplets: mean, sum, or none for the unreduced losses
    """

    def __init__(
        self,
        margin: Positive = 1.0,
        p: NonNegative = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: Deprecated = None,
        reduce: Deprecated = None,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        if margin <= 0:
            raise ValueError(f"TripletMarginLoss: margin must be > 0, not {margin}")
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_loss(
            anchor, positive, negative, self.margin, self.p, self.eps, self.swap, reduction=self.reduction
        )


Distance: TypeAlias = Callable[[Tensor, Tensor], Tensor] | Literal["euclidean", "manhattan", "cosine"]
"""A distance function, or its name."""

DISTANCES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "euclidean": F.pairwise_distance,
    "manhattan": partial(F.pairwise_distance, p=1.0),
    "cosine": lambda x, y: 1 - F.cosine_similarity(x, y),
}
"""Distances by name, for project files."""


@LOSSES.register(category=GROUP, title="Triplet margin with distance", tags=("metric learning", "siamese", "cosine"))
class TripletMarginWithDistanceLoss(Loss):
    """Triplet loss with another distance: ``max(0, d(anchor, positive) - d(anchor, negative) + margin)``.

    Args:
        distance_function: name of the distance, or a function from two tensors to their distances (default: euclidean)
        margin: required difference between the two distances
        swap: use the distance from positive to negative if it is smaller than from anchor to negative
        reduction: reduction over the triplets: mean, sum, or none for the unreduced losses
    """

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor]
        | Literal["euclidean", "manhattan", "cosine"]
        | None = None,
        margin: Positive = 1.0,
        swap: bool = False,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        if margin <= 0:
            raise ValueError(f"TripletMarginWithDistanceLoss: margin must be > 0, not {margin}")
        if isinstance(distance_function, str) and distance_function not in DISTANCES:
            raise ValueError(f"distance_function must be one of {', '.join(DISTANCES)}, not {distance_function!r}")
        named = DISTANCES[distance_function] if isinstance(distance_function, str) else distance_function
        self.distance_function = named or F.pairwise_distance
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )
