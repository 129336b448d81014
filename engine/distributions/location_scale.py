"""Distributions that lie evenly around one place."""

from __future__ import annotations

from typing import Any, ClassVar

from engine.distributions.distribution import Distribution, together
from engine.tensors import Tensor


class Symmetric(Distribution):
    """Lies evenly around `loc`, where it is densest."""

    loc: Tensor

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        return self.loc


class LocationScale(Symmetric):
    """One of a shape that is only moved by `loc` and stretched by `scale`."""

    PARAMETERS: ClassVar[tuple[str, ...]] = ("loc", "scale")
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = together(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)
        self._require("scale", self.scale > 0, "positive")


__all__ = ["LocationScale", "Symmetric"]
