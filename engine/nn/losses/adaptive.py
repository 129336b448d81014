"""Adaptive softmax, for many classes with a skewed distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from engine.dtypes import DType
from engine.errors import RangeError, ShapeError
from engine.nn.containers.module_list import ModuleList
from engine.nn.containers.sequential import Sequential
from engine.nn.layers.annotations import DeviceArgument
from engine.nn.layers.linear import Linear
from engine.nn.module import Module
from engine.ops.movement.joining import cat
from engine.registry import Positive, Size
from engine.shape import format_shape
from engine.tensors import Tensor


class ASMoutput(NamedTuple):
    """Log probability of each target, and the loss."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Adaptive log-softmax loss for many classes sorted by frequency; rare classes have smaller projections.

    Source: Grave et al., Efficient softmax approximation for GPUs, arXiv 1609.04309.

    Args:
        in_features: size of the last dimension of the input
        n_classes: number of classes
        cutoffs: first class of each cluster after the frequent classes
        div_value: factor by which the projection size decreases from cluster to cluster
        head_bias: learn a bias for the scores of frequent classes and clusters
    """

    def __init__(
        self,
        in_features: Size,
        n_classes: Size,
        cutoffs: Sequence[int],
        div_value: Positive = 4.0,
        head_bias: bool = False,
        device: DeviceArgument = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        cuts = list(cutoffs)
        is_valid = cuts and min(cuts) > 0 and max(cuts) < n_classes and all(isinstance(cut, int) for cut in cuts)
        if not is_valid or cuts != sorted(set(cuts)):
            raise ValueError(
                f"cutoffs must be increasing integers between 1 and n_classes - 1 = {n_classes - 1}, not {cuts}"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cuts, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = cuts[0]
        self.n_clusters = len(cuts)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, head_bias, device=device, dtype=dtype)
        self.tail = ModuleList()
        for number, (start, end) in enumerate(zip(self.cutoffs, self.cutoffs[1:], strict=False), 1):
            hidden = int(in_features // div_value**number)
            projection = Linear(in_features, hidden, False, device=device, dtype=dtype)
            self.tail.append(Sequential(projection, Linear(hidden, end - start, False, device=device, dtype=dtype)))

    def reset_parameters(self) -> None:
        """Reinitialize the parameters."""
        for layer in self.modules():
            if isinstance(layer, Linear):
                layer.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> ASMoutput:
        """Log probability of each target and their negative mean, for ``(N, in_features)`` and ``N``, or one sample."""
        if input_.ndim != target_.ndim + 1 or tuple(input_.shape[:-1]) != tuple(target_.shape):
            raise ShapeError(
                "AdaptiveLogSoftmaxWithLoss requires N×in_features and N classes, or one sample and one class, not "
                f"{format_shape(input_.shape)} and {format_shape(target_.shape)}"
            )
        single = target_.ndim == 0
        input, target = (input_.unsqueeze(0), target_.unsqueeze(0)) if single else (input_, target_)
        if target.numel() and not (target.min().item() >= 0 and target.max().item() < self.n_classes):
            raise RangeError(f"classes must be between 0 and {self.n_classes - 1}")
        head = self.head(input).log_softmax(1)
        rows, values = [], []
        for number, (start, end) in enumerate(zip([0, *self.cutoffs], self.cutoffs, strict=False)):
            rows_in_cluster = ((target >= start) & (target < end)).nonzero().squeeze(1)
            if not rows_in_cluster.numel():
                continue
            index = (target.index_select(0, rows_in_cluster) - start).unsqueeze(1)
            scores = head.index_select(0, rows_in_cluster)
            if number == 0:
                value = scores.gather(1, index).squeeze(1)
            else:
                cluster_scores = self.tail[number - 1](input.index_select(0, rows_in_cluster)).log_softmax(1)
                value = scores[:, self.shortlist_size + number - 1] + cluster_scores.gather(1, index).squeeze(1)
            rows.append(rows_in_cluster)
            values.append(value)
        output = cat(values).index_select(0, cat(rows).argsort()) if rows else head.new_zeros((0,))
        loss = -output.mean()
        return ASMoutput(output.squeeze(0) if single else output, loss)

    def log_prob(self, input: Tensor) -> Tensor:
        """Log probabilities of all classes, ``(N, n_classes)``."""
        head = self.head(input).log_softmax(1)
        parts = [head[:, : self.shortlist_size]]
        for number, projection in enumerate(self.tail):
            group = self.shortlist_size + number
            parts.append(projection(input).log_softmax(1) + head[:, group : group + 1])
        return cat(parts, dim=1)

    def predict(self, input: Tensor) -> Tensor:
        """Most likely class of each sample."""
        return self.log_prob(input).argmax(1)
