"""Symmetric and location-scale distributions."""

from __future__ import annotations

from typing import Any, ClassVar

from engine.distributions.distribution import Distribution, broadcast_tensors_and_numbers
from engine.tensors import Tensor


class Symmetric(Distribution):
    """Base of distributions that are symmetric around their mode `loc`."""

    loc: Tensor

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        """Most probable value."""
        return self.loc


class LocationScale(Symmetric):
    """Base of distributions with the parameters `loc` and `scale`."""

    PARAMETERS: ClassVar[tuple[str, ...]] = ("loc", "scale")
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_tensors_and_numbers(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)
        self._require("scale", self.scale > 0, "positive")


__all__ = ["LocationScale", "Symmetric"]
