"""Kullback-Leibler divergence of distributions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine import linalg
from engine.distributions.bernoulli import Bernoulli
from engine.distributions.categorical import Categorical
from engine.distributions.distribution import Distribution
from engine.distributions.exponential import Exponential
from engine.distributions.independent import Independent
from engine.distributions.laplace import Laplace
from engine.distributions.multivariate_normal import MultivariateNormal
from engine.distributions.normal import Normal
from engine.distributions.one_hot_categorical import OneHotCategorical
from engine.distributions.uniform import Uniform
from engine.functions import where
from engine.nn.functional import softplus
from engine.tensors import Tensor

Rule = Callable[[Any, Any], Tensor]
_rules: dict[tuple[type, type], Rule] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Rule], Rule]:
    """Decorator that registers the divergence of two distribution classes and their subclasses."""

    def declare(rule: Rule) -> Rule:
        _rules[type_p, type_q] = rule
        return rule

    return declare


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """Kullback-Leibler divergence ∫ p ln(p / q), in nats."""
    for kind in type(p).__mro__:
        for other in type(q).__mro__:
            if (kind, other) in _rules:
                return _rules[kind, other](p, q)
    raise NotImplementedError(
        f"kl_divergence is not implemented for {type(p).__name__} and {type(q).__name__}. Add it with register_kl()."
    )


@register_kl(Normal, Normal)
def _(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale) ** 2
    away = ((p.loc - q.loc) / q.scale) ** 2
    return 0.5 * (ratio + away - 1 - ratio.log())


@register_kl(Bernoulli, Bernoulli)
def _(p: Bernoulli, q: Bernoulli) -> Tensor:
    one = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    one = where(q.probs == 0, float("inf"), one)
    one = where(p.probs == 0, 0.0, one)
    zero = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    zero = where(q.probs == 1, float("inf"), zero)
    return one + where(p.probs == 1, 0.0, zero)


@register_kl(Categorical, Categorical)
def _(p: Categorical, q: Categorical) -> Tensor:
    parts = p.probs * (p.logits - q.logits)
    parts = where((q.probs == 0).expand(parts.shape), float("inf"), parts)
    return where((p.probs == 0).expand(parts.shape), 0.0, parts).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return kl_divergence(p._categorical, q._categorical)


@register_kl(Uniform, Uniform)
def _(p: Uniform, q: Uniform) -> Tensor:
    found = ((q.high - q.low) / (p.high - p.low)).log()
    return where((q.low > p.low) | (q.high < p.high), float("inf"), found)


@register_kl(Exponential, Exponential)
def _(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


@register_kl(Laplace, Laplace)
def _(p: Laplace, q: Laplace) -> Tensor:
    ratio, away = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + away / q.scale + ratio * (-away / p.scale).exp() - 1


@register_kl(MultivariateNormal, MultivariateNormal)
def _(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    spread = (linalg.solve_triangular(q.scale_tril, p.scale_tril, upper=False) ** 2).sum((-2, -1))
    return q.half_logdet() - p.half_logdet() + 0.5 * (spread + q.distance(p.loc) - p.event_shape[0])


@register_kl(Independent, Independent)
def _(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("kl_divergence: both distributions must have the same number of event dimensions")
    return p.summed(kl_divergence(p.base_dist, q.base_dist))
