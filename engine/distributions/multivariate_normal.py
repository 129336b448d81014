"""Multivariate normal distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

from engine import linalg
from engine.distributions.distribution import Shape
from engine.distributions.location_scale import Symmetric
from engine.errors import LinAlgError, RangeError, ShapeError
from engine.functions import broadcast_shapes
from engine.tensors import Tensor
from engine.tensors.creation import eye, randn


class MultivariateNormal(Symmetric):
    """Multivariate normal distribution. Takes exactly one of the three matrices.

    Args:
        loc: mean
        covariance_matrix: covariance matrix
        precision_matrix: inverse of the covariance matrix
        scale_tril: lower triangular Cholesky factor of the covariance
        validate_args: check parameters and values (default: that of `Distribution`)
    """

    PARAMETERS: ClassVar[tuple[str, ...]] = ("loc", "covariance_matrix", "precision_matrix", "scale_tril")
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        matrices = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        passed = {name: matrix for name, matrix in matrices.items() if matrix is not None}
        if len(passed) != 1:
            raise ValueError("MultivariateNormal requires one of covariance_matrix, precision_matrix and scale_tril")
        ((self._name, matrix),) = passed.items()
        if loc.ndim < 1 or matrix.ndim < 2:
            raise ShapeError(f"MultivariateNormal: loc must be a vector and {self._name} a matrix, or batches of them")
        batch = tuple(broadcast_shapes(matrix.shape[:-2], loc.shape[:-1]))
        size = loc.shape[-1]
        self.loc, self._matrix = loc.expand((*batch, size)), matrix.expand((*batch, size, size))
        super().__init__(batch, (size,), validate_args)
        self.scale_tril = self._factor()

    def _factor(self) -> Tensor:
        """Lower triangular Cholesky factor of the covariance."""
        if self._name == "scale_tril":
            diagonal = self._matrix.diagonal(dim1=-2, dim2=-1)
            self._require("scale_tril", diagonal > 0, "positive on its diagonal")
            return self._matrix
        try:
            if self._name == "covariance_matrix":
                return linalg.cholesky(self._matrix)
            inverse = linalg.cholesky(self._matrix.flip((-2, -1))).flip((-2, -1)).mT
            identity = eye(inverse.shape[-1], dtype=inverse.dtype, device=inverse.device)
            return linalg.solve_triangular(inverse, identity.expand(inverse.shape), upper=False)
        except LinAlgError as error:
            raise RangeError(f"MultivariateNormal: {self._name} must be positive definite") from error

    def _constructor_parameters(self) -> tuple[str, ...]:
        return ("loc", self._name)

    def expand(self, batch_shape: Shape) -> Self:
        size = self.event_shape[0]
        matrix = self._matrix.expand((*batch_shape, size, size))
        return type(self)(self.loc.expand((*batch_shape, size)), **{self._name: matrix}, validate_args=False)

    @property
    def covariance_matrix(self) -> Tensor:
        """Covariance matrix."""
        return self._matrix if self._name == "covariance_matrix" else self.scale_tril @ self.scale_tril.mT

    @property
    def precision_matrix(self) -> Tensor:
        """Inverse of the covariance matrix."""
        return self._matrix if self._name == "precision_matrix" else linalg.inv(self.covariance_matrix)

    @property
    def variance(self) -> Tensor:
        return (self.scale_tril**2).sum(-1)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        noise = randn(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + (self.scale_tril @ noise.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Any) -> Tensor:
        return (
            -0.5 * (self.event_shape[0] * math.log(2 * math.pi) + self.squared_mahalanobis(value)) - self.half_logdet()
        )

    def squared_mahalanobis(self, value: Tensor) -> Tensor:
        """Squared Mahalanobis distance from the mean."""
        difference = (value - self.loc).unsqueeze(-1)
        scale = self.scale_tril.expand((*difference.shape[:-2], *self.scale_tril.shape[-2:]))
        return (linalg.solve_triangular(scale, difference, upper=False).squeeze(-1) ** 2).sum(-1)

    def half_logdet(self) -> Tensor:
        """Log determinant of `scale_tril`."""
        return self.scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def entropy(self) -> Tensor:
        return 0.5 * self.event_shape[0] * (1 + math.log(2 * math.pi)) + self.half_logdet()
