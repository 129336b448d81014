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

DivergenceFunction = Callable[[Any, Any], Tensor]
_functions: dict[tuple[type, type], DivergenceFunction] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[DivergenceFunction], DivergenceFunction]:
    """Decorator that registers the divergence of two distribution classes and their subclasses."""

    def register(function: DivergenceFunction) -> DivergenceFunction:
        _functions[type_p, type_q] = function
        return function

    return register


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """Kullback-Leibler divergence ∫ p ln(p / q), in nats."""
    for p_class in type(p).__mro__:
        for q_class in type(q).__mro__:
            if (p_class, q_class) in _functions:
                return _functions[p_class, q_class](p, q)
    raise NotImplementedError(
        f"kl_divergence is not implemented for {type(p).__name__} and {type(q).__name__}. Add it with register_kl()."
    )


@register_kl(Normal, Normal)
def _(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale) ** 2
    distance = ((p.loc - q.loc) / q.scale) ** 2
    return 0.5 * (ratio + distance - 1 - ratio.log())


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
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * (-distance / p.scale).exp() - 1


@register_kl(MultivariateNormal, MultivariateNormal)
def _(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    trace = (linalg.solve_triangular(q.scale_tril, p.scale_tril, upper=False) ** 2).sum((-2, -1))
    return q.half_logdet() - p.half_logdet() + 0.5 * (trace + q.squared_mahalanobis(p.loc) - p.event_shape[0])


@register_kl(Independent, Independent)
def _(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError(
            "kl_divergence: both distributions must have the same reinterpreted_batch_ndims, "
            f"not {p.reinterpreted_batch_ndims} and {q.reinterpreted_batch_ndims}"
        )
    return p.sum_event_dims(kl_divergence(p.base_dist, q.base_dist))
