"""torch.linalg: linear algebra, such as `engine.linalg.solve`."""

from typing import Any

from engine.errors import LinAlgError
from engine.ops import return_types
from engine.ops.argument_names import as_public_function
from engine.ops.linalg.decompositions import eigh, eigvalsh, svdvals
from engine.ops.linalg.decompositions import linalg_qr as qr
from engine.ops.linalg.decompositions import linalg_svd as svd
from engine.ops.linalg.ldl import ldl_factor, ldl_factor_ex, ldl_solve
from engine.ops.linalg.lu import linalg_lu as lu
from engine.ops.linalg.lu import linalg_lu_solve as lu_solve
from engine.ops.linalg.lu import lu_factor, lu_factor_ex
from engine.ops.linalg.matmul import matmul
from engine.ops.linalg.matrix_functions import eig, eigvals, lstsq, matrix_exp, pinv, tensorinv, tensorsolve, vander
from engine.ops.linalg.norms import cond, matrix_norm, matrix_rank, vector_norm
from engine.ops.linalg.norms import linalg_norm as norm
from engine.ops.linalg.products import linalg_cross as cross
from engine.ops.linalg.products import matrix_power, multi_dot, vecdot
from engine.ops.linalg.reflections import householder_product
from engine.ops.linalg.systems import cholesky_ex, det, inv, inv_ex, linalg_slogdet, solve_ex
from engine.ops.linalg.systems import linalg_cholesky as cholesky
from engine.ops.linalg.systems import linalg_solve as solve
from engine.ops.linalg.systems import linalg_solve_triangular as solve_triangular
from engine.ops.record import Op
from engine.tensors import Tensor


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Return a view of the diagonals of matrices."""
    return A.diagonal(offset, dim1, dim2)


def slogdet(A: Tensor) -> Any:
    """Return (sign, logabsdet): the sign and the logarithm of the absolute value of the determinant."""
    return return_types.linalg_slogdet(*linalg_slogdet(A))


__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals",
    "eigvalsh", "householder_product", "inv", "inv_ex", "ldl_factor", "ldl_factor_ex", "ldl_solve", "lstsq", "lu",
    "lu_factor", "lu_factor_ex", "lu_solve", "matmul", "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank",
    "multi_dot", "norm", "pinv", "qr", "slogdet", "solve", "solve_ex", "solve_triangular", "svd", "svdvals",
    "tensorinv", "tensorsolve", "vander", "vecdot", "vector_norm",
]  # fmt: skip

globals().update({n: f if isinstance(f := globals()[n], (Op, type)) else as_public_function(f) for n in __all__})
