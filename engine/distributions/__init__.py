"""Probability distributions: samples, densities, entropies and divergences, with PyTorch's names."""

from engine.distributions.bernoulli import Bernoulli as Bernoulli
from engine.distributions.categorical import Categorical as Categorical
from engine.distributions.distribution import Distribution as Distribution
from engine.distributions.exponential import Exponential as Exponential
from engine.distributions.independent import Independent as Independent
from engine.distributions.kl import kl_divergence as kl_divergence
from engine.distributions.kl import register_kl as register_kl
from engine.distributions.laplace import Laplace as Laplace
from engine.distributions.multivariate_normal import MultivariateNormal as MultivariateNormal
from engine.distributions.normal import Normal as Normal
from engine.distributions.one_hot_categorical import OneHotCategorical as OneHotCategorical
from engine.distributions.one_hot_categorical import (
    OneHotCategoricalStraightThrough as OneHotCategoricalStraightThrough,
)
from engine.distributions.uniform import Uniform as Uniform

__all__ = [
    "Bernoulli",
    "Categorical",
    "Distribution",
    "Exponential",
    "Independent",
    "Laplace",
    "MultivariateNormal",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Uniform",
    "kl_divergence",
    "register_kl",
]
