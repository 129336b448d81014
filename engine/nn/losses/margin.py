"""Losses that bring like things together and keep others apart."""

from __future__ import annotations

from collections.abc import Callable

from engine.nn import functional as F
from engine.nn.functional.reduction import Deprecated, Reduction
from engine.nn.losses.loss import Loss
from engine.registry import LOSSES, NonNegative, Positive
from engine.tensors import Tensor

GROUP = "Embeddings"


@LOSSES.register(category=GROUP, title="Hinge of distances", tags=("metric learning",))
class HingeEmbeddingLoss(Loss):
    """Distances where the target is 1, and what they lack to a margin where it is -1.

    Args:
        margin: how far apart is enough
        reduction: mean or sum over the elements, or none
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


@LOSSES.register(category=GROUP, title="Cosine of pairs", tags=("metric learning", "similarity"))
class CosineEmbeddingLoss(Loss):
    """Turns pairs of vectors to the same direction where the target is 1, and away from it where it is -1.

    Args:
        margin: a cosine that is small enough for different ones
        reduction: mean or sum over the pairs, or none
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


@LOSSES.register(category=GROUP, title="Margin between ranks", tags=("ranking",))
class MarginRankingLoss(Loss):
    """The first input shall be larger where the target is 1, and smaller where it is -1.

    Args:
        margin: how much larger is enough
        reduction: mean or sum over the elements, or none
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
    """The anchor shall be nearer to the positive than to the negative, by a margin.

    Source: Balntas et al., BMVC 2016.

    Args:
        margin: how much nearer is enough
        p: the norm that measures distances
        eps: added to the differences
        swap: the negative may also be compared with the positive
        reduction: mean or sum over the triplets, or none
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


class TripletMarginWithDistanceLoss(Loss):
    """`TripletMarginLoss` with a distance of one's own.

    Args:
        distance_function: takes two tensors, gives their distances; by default the Euclidean one
        margin: how much nearer is enough
        swap: the negative may also be compared with the positive
        reduction: mean or sum over the triplets, or none
    """

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: Positive = 1.0,
        swap: bool = False,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        if margin <= 0:
            raise ValueError(f"TripletMarginWithDistanceLoss: margin must be > 0, not {margin}")
        self.distance_function = distance_function or F.pairwise_distance
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
