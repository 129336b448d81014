"""Named tuples of functions with several results, with PyTorch's field names and repr."""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING, Any

FIELDS = {
    "aminmax": ("min", "max"),
    "cummax": ("values", "indices"),
    "cummin": ("values", "indices"),
    "frexp": ("mantissa", "exponent"),
    "geqrf": ("a", "tau"),
    "histogram": ("hist", "bin_edges"),
    "histogramdd": ("hist", "bin_edges"),
    "kthvalue": ("values", "indices"),
    "linalg_cholesky_ex": ("L", "info"),
    "linalg_eigh": ("eigenvalues", "eigenvectors"),
    "linalg_inv_ex": ("inverse", "info"),
    "linalg_ldl_factor": ("LD", "pivots"),
    "linalg_ldl_factor_ex": ("LD", "pivots", "info"),
    "linalg_lstsq": ("solution", "residuals", "rank", "singular_values"),
    "linalg_lu": ("P", "L", "U"),
    "linalg_lu_factor": ("LU", "pivots"),
    "linalg_lu_factor_ex": ("LU", "pivots", "info"),
    "linalg_qr": ("Q", "R"),
    "linalg_slogdet": ("sign", "logabsdet"),
    "linalg_solve_ex": ("result", "info"),
    "linalg_svd": ("U", "S", "Vh"),
    "lu_unpack": ("P", "L", "U"),
    "max": ("values", "indices"),
    "median": ("values", "indices"),
    "min": ("values", "indices"),
    "mode": ("values", "indices"),
    "nanmedian": ("values", "indices"),
    "qr": ("Q", "R"),
    "slogdet": ("sign", "logabsdet"),
    "sort": ("values", "indices"),
    "svd": ("U", "S", "V"),
    "topk": ("values", "indices"),
    "triangular_solve": ("solution", "cloned_coefficient"),
}
"""Field names by function."""


def _named(name: str, fields: tuple[str, ...]) -> Any:
    base: Any = namedtuple(name, fields)

    class Result(base):
        __slots__ = ()

        def __new__(cls, *parts: Any) -> Any:
            """Create it from separate values, or from one tuple as in PyTorch."""
            return super().__new__(cls, *(parts[0] if len(parts) == 1 else parts))

        def __repr__(self) -> str:
            parts = ",\n".join(f"{field}={part!r}" for field, part in zip(fields, self, strict=True))
            return f"engine.return_types.{name}(\n{parts})"

    Result.__name__ = Result.__qualname__ = name
    return Result


if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


globals().update({name: _named(name, fields) for name, fields in FIELDS.items()})

__all__ = list(FIELDS)  # pyright: ignore[reportUnsupportedDunderAll]
