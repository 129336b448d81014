"""`engine.linalg`, products, einsum and distances compared with PyTorch: values, first and second gradients, errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import engine
from engine import linalg
from engine.errors import DTypeError, EngineError, LinAlgError, ShapeError
from engine.shape import Dim

torch = pytest.importorskip("torch")

INF = float("inf")
RANDOM = np.random.default_rng(3)


def normal(*shape: int) -> np.ndarray[Any, Any]:
    return RANDOM.standard_normal(shape)


def regular(*shape: int) -> np.ndarray[Any, Any]:
    """Well-conditioned matrices."""
    return normal(*shape) + 3 * np.eye(*shape[-2:])


def positive(*shape: int) -> np.ndarray[Any, Any]:
    x = normal(*shape)
    return x @ x.swapaxes(-1, -2) + np.eye(shape[-1])


@dataclass(frozen=True)
class Case:
    """A call. `of` maps the result to values that do not depend on the signs of vectors."""

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    of: Callable[[Any], Any] = lambda result: result
    orders: int = 2
    """Up to which gradient PyTorch has what can be compared."""

    def __str__(self) -> str:
        shown = (str(a.shape) if isinstance(a, np.ndarray) else str(a)[:20] for a in self.args)
        return f"{self.name}({','.join(shown)}{self.kwargs or ''})"


ORDERS = {"cholesky_solve": 0, "cholesky_inverse": 0, "cdist": 1, "pdist": 1, "linalg.cond": 0}
"""Highest order of gradients that is compared, if below 2.

PyTorch's gradient of Cholesky factors fills the other triangle, distances have no second gradient, and `cond` has none.
"""


def case(name: str, *args: Any, **kwargs: Any) -> Case:
    return Case(name, args, kwargs, orders=ORDERS.get(name, 2))


def product(factors: Any) -> Any:
    """Product of the factors of a decomposition, weighted so that every factor contributes."""
    parts = tuple(factors)
    if len(parts) == 2:
        q, r = parts
        return (q @ r) * 0.5 + (q @ q.mT).sum() + (r.mT @ r) if q.shape[-2] == r.shape[-1] else q @ r
    u, s, vh = parts
    k = s.shape[-1]
    return (u[..., :k] * (s**2).unsqueeze(-2)) @ vh[..., :k, :]


def spectrum(result: Any) -> Any:
    values, vectors = result
    return (vectors * values.sin().unsqueeze(-2)) @ vectors.mT


CASES = [
    *(case("linalg.inv", x) for x in (regular(3, 3), regular(2, 4, 4), regular(0, 2, 2), regular(2, 0, 0))),
    *(case("linalg.det", x) for x in (normal(3, 3), normal(2, 2, 3, 3), normal(0, 0))),
    *(case("linalg.slogdet", x) for x in (normal(3, 3), normal(2, 3, 3))),
    case("logdet", positive(3, 3)),
    case("linalg.solve", regular(3, 3), normal(3)),
    case("linalg.solve", regular(3, 3), normal(3, 2)),
    case("linalg.solve", regular(2, 3, 3), normal(2, 3)),
    case("linalg.solve", regular(2, 3, 3), normal(3, 2)),
    case("linalg.solve", regular(3, 3), normal(2, 3), left=False),
    *(
        case("linalg.solve_triangular", regular(2, 3, 3), normal(3, 3), upper=upper, left=left, unitriangular=unit)
        for upper in (True, False)
        for left in (True, False)
        for unit in (True, False)
    ),
    case("linalg.solve_triangular", regular(150, 150) + 20 * np.eye(150), normal(150, 2), upper=True),
    *(case("linalg.cholesky", positive(*shape)) for shape in ((3, 3), (2, 3, 3))),
    case("linalg.cholesky", positive(3, 3), upper=True),
    case("cholesky", positive(3, 3)),
    case("cholesky_solve", normal(3, 2), regular(3, 3)),
    case("cholesky_solve", normal(3, 2), regular(3, 3), upper=True),
    case("cholesky_inverse", regular(3, 3)),
    *(Case("linalg.qr", (normal(*s),), of=product) for s in ((4, 3), (3, 3), (2, 3, 5), (0, 3))),
    Case("qr", (normal(4, 3),), of=product),
    Case("qr", (normal(4, 3),), {"some": False}, of=product, orders=0),
    Case("linalg.qr", (normal(3, 3),), {"mode": "complete"}, of=product),
    Case("linalg.qr", (normal(4, 3),), {"mode": "r"}, of=lambda result: result[1].abs(), orders=0),
    *(Case("linalg.svd", (normal(*s),), {"full_matrices": False}, of=product) for s in ((4, 3), (3, 3), (2, 3, 5))),
    Case("linalg.svd", (normal(4, 3),), of=product),
    Case("svd", (normal(4, 3),), of=lambda r: (r[0] * r[1].exp().unsqueeze(-2)) @ r[2].mT),
    Case("svd", (normal(4, 3),), {"some": False}, of=lambda r: r[0].abs()[:, :3], orders=0),
    Case("svd", (normal(4, 3),), {"compute_uv": False}, of=lambda r: (r[0], r[1], r[2])[1], orders=0),
    case("linalg.svdvals", normal(2, 4, 3)),
    *(Case("linalg.eigh", (positive(*s),), {"UPLO": u}, of=spectrum) for s in ((3, 3), (2, 3, 3)) for u in "LU"),
    case("linalg.eigvalsh", positive(2, 3, 3)),
    *(case("linalg.pinv", normal(*s)) for s in ((4, 3), (2, 3, 4), (3, 3), (0, 3))),
    case("linalg.pinv", positive(3, 3), hermitian=True),
    case("linalg.pinv", normal(4, 2) @ normal(2, 3), rtol=1e-6),
    case("pinverse", normal(4, 3)),
    *(case("linalg.matrix_exp", normal(*s) * scale) for s, scale in (((3, 3), 1), ((2, 3, 3), 4), ((2, 2), 0))),
    *(case("linalg.matrix_power", regular(2, 3, 3), n) for n in (1, 2, 3, 6, -1, -3)),
    Case("linalg.matrix_power", (regular(2, 3, 3), 0), orders=0),
    *(case("linalg.vector_norm", normal(3, 4), p) for p in (2, 1, 0, 3, 0.5, INF, -INF, -2)),
    case("linalg.vector_norm", normal(3, 4, 2), 3, dim=(0, 2), keepdim=True),
    *(
        case("linalg.matrix_norm", normal(2, 4, 3), p, keepdim=keep)
        for p in ("fro", "nuc", 1, -1, 2, -2, INF, -INF)
        for keep in (True, False)
    ),
    case("linalg.matrix_norm", normal(3, 4, 5), 1, dim=(2, 0)),
    case("linalg.matrix_norm", normal(3, 4, 5), "nuc", dim=(0, 2), keepdim=True),
    case("linalg.norm", normal(3, 4)),
    case("linalg.norm", normal(3, 4), "nuc"),
    case("linalg.norm", normal(3, 4), 1, dim=0),
    case("linalg.norm", normal(3, 4), 2),
    case("linalg.norm", normal(5), 3),
    *(case("norm", normal(3, 4), p) for p in ("fro", 1, 3, INF, "nuc")),
    case("norm", normal(3, 4), 2, 1, True),
    case("dist", normal(3, 4), normal(4), 3),
    case("renorm", normal(3, 4), 2, 0, 1.5),
    *(case("linalg.cond", regular(3, 3), p) for p in (None, 1, 2, -2, "fro", "nuc", INF)),
    case("linalg.cond", normal(4, 3)),
    case("linalg.cross", normal(4, 3), normal(4, 3)),
    case("linalg.cross", normal(3, 4), normal(3, 1), dim=0),
    case("cross", normal(3, 4), normal(3, 4), dim=0),
    case("linalg.vecdot", normal(3, 4), normal(4)),
    case("linalg.vander", normal(2, 3)),
    case("linalg.vander", normal(3), N=5),
    case("linalg.tensorinv", normal(2, 3, 6), 2),
    case("linalg.tensorsolve", normal(2, 3, 6), normal(2, 3)),
    case("linalg.multi_dot", [normal(3, 4), normal(4, 2), normal(2, 6), normal(6, 1)]),
    case("linalg.multi_dot", [normal(4), normal(4, 2), normal(2)]),
    case("chain_matmul", normal(3, 4), normal(4, 2), normal(2, 6)),
    case("mm", normal(3, 4), normal(4, 2)),
    case("bmm", normal(2, 3, 4), normal(2, 4, 2)),
    case("mv", normal(3, 4), normal(4)),
    case("dot", normal(4), normal(4)),
    case("vdot", normal(4), normal(4)),
    case("inner", normal(2, 3, 4), normal(5, 4)),
    case("inner", normal(2, 3), normal()),
    case("outer", normal(3), normal(4)),
    case("ger", normal(3), normal(4)),
    case("addmm", normal(2), normal(3, 4), normal(4, 2), beta=0.5, alpha=2),
    case("addmm", normal(3, 2) * np.nan, normal(3, 4), normal(4, 2), beta=0),
    case("addmv", normal(3), normal(3, 4), normal(4), alpha=2),
    case("addbmm", normal(3, 2), normal(5, 3, 4), normal(5, 4, 2), beta=2),
    case("baddbmm", normal(5, 3, 2), normal(5, 3, 4), normal(5, 4, 2), beta=2, alpha=0.5),
    case("addr", normal(3, 2), normal(3), normal(2), alpha=3),
    case("tensordot", normal(2, 3, 4), normal(3, 4, 5), dims=2),
    case("tensordot", normal(2, 3, 4), normal(4, 5, 2), dims=([0, 2], [2, 0])),
    case("tensordot", normal(2), normal(3), dims=0),
    case("kron", normal(2, 3), normal(3, 1)),
    case("kron", normal(3), normal(2, 2, 2)),
    case("trace", normal(3, 4)),
    *(case("cdist", normal(4, 3), normal(5, 3), p=p) for p in (2.0, 1.0, INF, 3.0, 0.0, 0.5)),
    *(case("cdist", normal(2, 4, 3), normal(5, 3), p=p) for p in (2.0, 1.0)),
    case("cdist", normal(30, 3), normal(4, 3)),
    case("cdist", normal(2, 0, 3), normal(4, 3)),
    *(case("pdist", normal(5, 3), p=p) for p in (2.0, 1.0, INF)),
    case("linalg.cond", normal(4, 3), 2),
    case("linalg.matrix_rank", normal(4, 2) @ normal(2, 3)),
    case("linalg.matrix_rank", positive(2, 3, 3), hermitian=True),
    case("linalg.matrix_rank", normal(3, 3), atol=1.0),
    case("linalg.inv_ex", regular(3, 3)),
    case("linalg.cholesky_ex", positive(3, 3)),
]

EQUATIONS: list[tuple[str, tuple[tuple[int, ...], ...]]] = [
    ("ij,jk->ik", ((3, 4), (4, 2))),
    ("ij,jk", ((3, 4), (4, 2))),
    ("ba,b", ((3, 4), (3,))),
    ("ii", ((3, 3),)),
    ("ii->i", ((3, 3),)),
    ("iij->j", ((3, 3, 2),)),
    ("iji->ji", ((3, 2, 3),)),
    ("ij->ji", ((3, 4),)),
    ("ij->", ((3, 4),)),
    (" i j -> j ", ((3, 4),)),
    ("i,i->", ((3,), (3,))),
    ("i,j->ij", ((3,), (4,))),
    ("i,i->i", ((3,), (3,))),
    ("bij,bjk->bik", ((2, 3, 4), (2, 4, 5))),
    ("bhqd,bhkd->bhqk", ((2, 3, 4, 5), (2, 3, 6, 5))),
    ("...ij,...jk->...ik", ((2, 3, 4), (4, 5))),
    ("...ij,...jk", ((2, 1, 3, 4), (5, 4, 5))),
    ("i...,i...->...", ((2, 3, 4), (2, 4))),
    ("...,...->...", ((3, 1), (4,))),
    ("...i->i...", ((2, 3, 4),)),
    ("i...->...", ((2, 3, 4),)),
    ("...->", ((2, 3),)),
    ("...ii->...i", ((2, 3, 3),)),
    ("ij,jk,kl->il", ((2, 3), (3, 4), (4, 5))),
    ("ij,jk,kl,lm->im", ((2, 9), (9, 3), (3, 8), (8, 2))),
    ("a,b,c->abc", ((2,), (3,), (4,))),
    ("ij,ij,ij->i", ((2, 3), (2, 3), (2, 3))),
    ("bn,anm,bm->ba", ((2, 5), (3, 5, 4), (2, 4))),
    ("ij,jk->ik", ((3, 0), (0, 2))),
    ("ij,j->i", ((3, 1), (4,))),
    ("Ab,bA->A", ((2, 3), (3, 2))),
    (",ij->ij", ((), (2, 3))),
]
CASES += [case("einsum", equation, *(normal(*shape) for shape in shapes)) for equation, shapes in EQUATIONS]


def build(value: Any, make: Callable[[Any], Any]) -> Any:
    if isinstance(value, np.ndarray):
        return make(value)
    return (
        [build(item, make) for item in value] if isinstance(value, list) and isinstance(value[0], np.ndarray) else value
    )


def ours(value: Any) -> Any:
    return engine.tensor(value, requires_grad=True)


def theirs(value: Any) -> Any:
    return torch.tensor(value, requires_grad=True)


def outputs(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple) else [result]


def call(root: Any, case: Case, make: Callable[[Any], Any]) -> tuple[list[Any], list[Any]]:
    """The results and the input tensors."""
    args = [build(arg, make) for arg in case.args]
    function = root
    for part in case.name.split("."):
        function = getattr(function, part)
    leaves = [leaf for arg in args for leaf in (arg if isinstance(arg, list) else [arg]) if hasattr(leaf, "grad")]
    return outputs(case.of(function(*args, **case.kwargs))), leaves


def weighted_sum(results: list[Any], make: Callable[[Any], Any]) -> Any:
    """A scalar that depends on every element with another weight, nonlinearly."""
    total = 0
    for x in results:
        if x.is_floating_point() and x.requires_grad:
            weights = make(np.cos(np.arange(x.numel())).reshape(tuple(x.shape))).detach()
            total = total + (x * weights).sum() + (x * x * weights).sum() * 0.5
    return total


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.filterwarnings("ignore")
def test_equals_pytorch(case: Case) -> None:
    (a, mine), (b, their) = call(engine, case, ours), call(torch, case, theirs)
    for x, y in zip(a, b, strict=True):
        assert tuple(x.shape) == tuple(y.shape)
        assert x.dtype.name in (str(y.dtype).removeprefix("torch."), "int64")
        np.testing.assert_allclose(x.detach().numpy(), y.detach().numpy(), rtol=1e-8, atol=1e-9)
    if not case.orders or not any(y.requires_grad for y in b) or not any(leaf.numel() for leaf in their):
        return
    firsts = []
    for results, leaves, make, grad in ((a, mine, ours, engine.grad), (b, their, theirs, torch.autograd.grad)):
        keep = {"create_graph": case.orders > 1, "allow_unused": True}
        firsts.append(grad(weighted_sum(results, make), leaves, **keep))
    compare_gradients(mine, *firsts)
    if case.orders == 1:
        return
    seconds = []
    for grads, leaves, grad in ((firsts[0], mine, engine.grad), (firsts[1], their, torch.autograd.grad)):
        penalty = sum((g * g).sum() for g in grads if g is not None and g.requires_grad)
        seconds.append(grad(penalty, leaves, allow_unused=True) if hasattr(penalty, "backward") else ())
    if seconds[0] and seconds[1]:
        compare_gradients(mine, *seconds)


def compare_gradients(leaves: list[Any], a: Any, b: Any) -> None:
    for leaf, x, y in zip(leaves, a, b, strict=True):
        x = np.zeros(leaf.shape) if x is None else x.detach().numpy()
        y = np.zeros(leaf.shape) if y is None else y.detach().numpy()
        size = max(1.0, float(np.abs(y).max(initial=0)))
        np.testing.assert_allclose(x, y, rtol=1e-6, atol=1e-7 * size)


@pytest.mark.parametrize("option", ["atol", "rtol"])
def test_matrix_rank_with_tolerance_per_matrix(option: str) -> None:
    found = []
    for library in (engine, torch):
        matrices = library.tensor([[[3.0, 0.0], [0.0, 0.1]]] * 2)
        found.append(library.linalg.matrix_rank(matrices, **{option: library.tensor([0.5, 0.01])}).tolist())
    assert found[0] == found[1] == [1, 2]


@pytest.mark.parametrize("case", [c for c in CASES if c.name != "linalg.matrix_rank"], ids=str)
def test_shapes_on_meta(case: Case) -> None:
    real, _ = call(engine, case, engine.tensor)
    meta, _ = call(engine, case, lambda x: engine.tensor(x).to("meta"))
    assert [x.spec for x in meta] == [x.spec for x in real]


def test_symbolic_batches() -> None:
    x = engine.zeros(Dim("N"), 3, 4, device="meta")
    assert engine.einsum("bij,bkj->bik", x, x).shape == (Dim("N"), 3, 3)
    assert engine.einsum("bij,jk->bik", x, engine.zeros(4, 5, device="meta")).shape == (Dim("N"), 3, 5)
    assert linalg.inv(x[..., :3]).shape == (Dim("N"), 3, 3)
    assert engine.cdist(x, x).shape == (Dim("N"), 3, 3)


def test_einsum_sublist_form() -> None:
    x, y = normal(2, 3), normal(3, 4)
    for arguments in ((x, [0, 1], y, [1, 2], [0, 2]), (x, [0, 1], y, [1, 2]), (x, [..., 1], y, [1, 2], [..., 2])):
        found = engine.einsum(*(engine.tensor(a) if isinstance(a, np.ndarray) else a for a in arguments))
        want = torch.einsum(*(torch.tensor(a) if isinstance(a, np.ndarray) else a for a in arguments))
        np.testing.assert_allclose(found.numpy(), want.numpy())


def test_products_in_place() -> None:
    x = engine.ones(2, 2)
    assert x.addmm_(engine.ones(2, 3), engine.ones(3, 2), beta=2) is x
    np.testing.assert_array_equal(x.numpy(), np.full((2, 2), 5.0))


@pytest.mark.parametrize("shape", [(5, 3), (3, 3), (2, 5, 3), (3, 5)])
@pytest.mark.parametrize("driver", [None, "gelsd"])
def test_least_squares(shape: tuple[int, ...], driver: str | None) -> None:
    A, B = normal(*shape), normal(*shape[:-1], 2)
    found, want = (
        linalg.lstsq(ours(A), ours(B), driver=driver),
        torch.linalg.lstsq(theirs(A), theirs(B), driver=driver),
    )
    for x, y in zip(found, want, strict=True):
        assert tuple(x.shape) == tuple(y.shape)
        np.testing.assert_allclose(x.detach().numpy(), y.detach().numpy(), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, INF])
def test_gradient_of_distance_between_equal_points_is_zero(p: float) -> None:
    x = engine.ones(4, 3, requires_grad=True)
    engine.cdist(x, engine.ones(30, 3), p=p).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.zeros((4, 3)))
    y = engine.zeros(3, requires_grad=True)
    linalg.vector_norm(y, p).backward()
    np.testing.assert_array_equal(y.grad.numpy(), np.zeros(3))


def test_singular_triangular_system_gives_infinities() -> None:
    found = linalg.solve_triangular(engine.tensor([[1.0, 2.0], [0.0, 0.0]]), engine.ones(2, 1), upper=True)
    np.testing.assert_array_equal(found.numpy(), [[-INF], [INF]])


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_gradient_of_the_determinant_of_nan_is_nan(value: float) -> None:
    x = engine.eye(3).repeat(2, 1, 1)
    x[1, 0, 0] = value
    x.requires_grad_()
    linalg.det(x).sum().backward()
    assert x.grad is not None
    assert x.grad[0].isfinite().all()
    assert x.grad[1].isnan().all()


def test_gradient_of_singular_determinant() -> None:
    values = np.outer([1.0, 2, 3], [4.0, 5, 6]) + np.diag([0, 1.0, 0])
    x = ours(values)
    linalg.det(x).backward()
    # Not those of PyTorch: on some processors its LU factors are exactly singular, and it gives 0.
    rest = [np.delete(values, row, 0) for row in range(3)]
    minors = [[np.linalg.det(np.delete(rest[row], column, 1)) for column in range(3)] for row in range(3)]
    signs = np.array([[1, -1, 1], [-1, 1, -1], [1, -1, 1]])
    np.testing.assert_allclose(x.grad.numpy(), signs * minors, atol=1e-12)


def test_nan_propagates_or_raises() -> None:
    assert bool(linalg.det(engine.full((2, 2), float("nan"))).isnan())
    assert bool(linalg.norm(engine.tensor([1.0, float("nan")])).isnan())
    with pytest.raises(LinAlgError, match="did not converge"):
        linalg.svd(engine.full((2, 2), float("nan")))


SINGULAR = np.stack([np.eye(3), np.ones((3, 3))])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: linalg.inv(engine.tensor(SINGULAR)), LinAlgError, "linalg.inv: the matrix at batch index 1 is sing"),
        (lambda: linalg.inv(engine.tensor(SINGULAR[None])), LinAlgError, r"at batch index \(0, 1\)"),
        (lambda: linalg.solve(engine.zeros(2, 2), engine.ones(2)), LinAlgError, "the matrix is singular"),
        (lambda: linalg.cholesky(-engine.tensor(SINGULAR)), LinAlgError, "batch index 0 is not positive definite"),
        (lambda: linalg.inv(engine.ones(2, 3)), ShapeError, "must be square, not 2×3"),
        (lambda: linalg.inv(engine.ones(3)), ShapeError, "expected a matrix or a batch of matrices, not 3"),
        (lambda: linalg.inv(engine.ones(3, 3).long()), DTypeError, "floating point, not int64"),
        (lambda: linalg.solve(engine.eye(3), engine.ones(2, 2)), ShapeError, "B must have 3 rows, not 2×2"),
        (lambda: engine.mm(engine.ones(2), engine.ones(2)), ShapeError, "mm: expected a matrix and a matrix, not 2"),
        (lambda: engine.bmm(engine.ones(2, 3, 3), engine.ones(1, 3, 3)), ShapeError, "must be equal, not 2 and 1"),
        (lambda: engine.dot(engine.ones(2), engine.ones(3)), ShapeError, "do not multiply"),
        (lambda: engine.einsum("ij,jk->ik", engine.ones(2, 3), engine.ones(4, 2)), ShapeError, "'j' has size 3 in one"),
        (lambda: engine.einsum("ij->ik", engine.ones(2, 3)), ShapeError, "'k', but no operand does"),
        (lambda: engine.einsum("ijk", engine.ones(2, 3)), ShapeError, "has 3 letters"),
        (lambda: engine.einsum("ij,jk", engine.ones(2, 3)), ValueError, "has 2 operands, but 1"),
        (lambda: engine.einsum("ij->ii", engine.ones(2, 3)), ValueError, "occurs twice"),
        (lambda: engine.einsum("i1", engine.ones(2, 3)), ValueError, "neither a letter"),
        (lambda: engine.cdist(engine.ones(2, 3), engine.ones(2, 4)), ShapeError, "the same last size"),
        (lambda: engine.cdist(engine.ones(2, 3), engine.ones(2, 3), p=-1), ValueError, "p must be at least 0"),
        (lambda: engine.cross(engine.ones(2), engine.ones(2)), ShapeError, "no dimension of 2 has size 3"),
        (lambda: engine.tensordot(engine.ones(2, 3), engine.ones(2, 3)[:, :2], 1), ShapeError, "differ"),
        (lambda: engine.trace(engine.ones(2)), ShapeError, "trace: expected a matrix"),
        (lambda: linalg.matrix_norm(engine.ones(2, 2), 3), ValueError, "ord must be"),
        (lambda: linalg.norm(engine.ones(2, 2).long()), DTypeError, "floating point"),
        (lambda: engine.norm(engine.ones(2, 2), "max"), ValueError, 'p must be a number, "fro" or "nuc", not \'max\''),
        (lambda: engine.norm(engine.ones(2, 2), "nuc", dim=0), ShapeError, r"two different dimensions, not \(0,\)"),
        (lambda: linalg.qr(engine.ones(2, 2), mode="full"), ValueError, "mode must be"),
        (lambda: linalg.eig(engine.ones(2, 2)), NotImplementedError, "are complex"),
    ],
)
def test_errors(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_ex_functions_return_info() -> None:
    found, info = linalg.inv_ex(engine.zeros(2, 2))
    assert int(info) == 1
    assert bool(found.isnan().all())
    with pytest.raises(EngineError):
        linalg.cholesky_ex(engine.zeros(2, 2), check_errors=True)
