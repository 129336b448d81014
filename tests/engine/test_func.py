"""Derivatives as functions, against PyTorch's."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine
from engine import func, nn
from engine.errors import AutogradError

torch = pytest.importorskip("torch")

pytestmark = [
    pytest.mark.filterwarnings("ignore:`torch.jit"),  # PyTorch's own, on its first forward derivative
    pytest.mark.filterwarnings("ignore:Attempted to insert"),  # and on what it linearizes
]

X, Y = np.array([0.5, -1.0, 2.0]), np.array([[1.0, 2.0, 3.0], [0.5, 0.25, -1.0]])
CASES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "grad": lambda lib, x, y: lib.func.grad(lambda x: x.sin().sum())(x),
    "grad of grad": lambda lib, x, y: lib.func.grad(lib.func.grad(lambda x: (x**4).sum()))(x[0]),
    "grad of two": lambda lib, x, y: lib.func.grad(lambda x, y: (y @ x).sum(), argnums=(0, 1))(x, y),
    "grad of the last": lambda lib, x, y: lib.func.grad(lambda x, y: (y @ x).sum(), argnums=-1)(x, y),
    "grad with more": lambda lib, x, y: lib.func.grad(lambda x: ((x * x).sum(), x * 2), has_aux=True)(x),
    "unused": lambda lib, x, y: lib.func.grad(lambda x, y: y.sum(), argnums=(0, 1))(x, y),
    "both": lambda lib, x, y: lib.func.grad_and_value(lambda x: x.exp().sum())(x),
    "both with more": lambda lib, x, y: lib.func.grad_and_value(lambda x: (x.exp().sum(), x), has_aux=True)(x),
    "of a dict": lambda lib, x, y: lib.func.grad(lambda p, z: (p["w"] @ p["b"] * z[0]).sum())({"w": y, "b": x}, [x[0]]),
    "jacrev": lambda lib, x, y: lib.func.jacrev(lambda x: y @ x)(x),
    "jacrev of two": lambda lib, x, y: lib.func.jacrev(lambda x, y: (y @ x, x.sum()), argnums=(0, 1))(x, y),
    "jacfwd": lambda lib, x, y: lib.func.jacfwd(lambda x: x.tanh())(x),
    "hessian": lambda lib, x, y: lib.func.hessian(lambda x: (x**3).sum() * x[0])(x),
    "vjp": lambda lib, x, y: lib.func.vjp(lambda x, y: (y @ x).tanh(), x, y)[1](y[:, 0]),
    "vjp of a dict": lambda lib, x, y: lib.func.vjp(lambda p: {"out": p["x"] * 2}, {"x": x})[1]({"out": x}),
    "jvp with more": lambda lib, x, y: lib.func.jvp(lambda x: (x.tanh(), x), (x,), (x,), has_aux=True),
    "jvp of structures": lambda lib, x, y: lib.func.jvp(
        lambda p, z: {"o": p["w"] @ p["b"][0] * z, "l": [p["b"][1].sin(), (z,)]},
        ({"w": y, "b": [x, x * 2]}, x[0]), ({"w": y * 3, "b": [x.exp(), x]}, x[1])),
    "jvp of a dict with more": lambda lib, x, y: lib.func.jvp(
        lambda p: ([p["x"].exp()], {"aux": p["x"]}), ({"x": x},), ({"x": x},), has_aux=True),
    "jvp with an empty dict": lambda lib, x, y: lib.func.jvp(lambda x, p: x * 2, (x, {}), (x, {})),
    "jvp of jvp of a dict": lambda lib, x, y: lib.func.jvp(
        lambda p: lib.func.jvp(lambda p: p["x"] ** 3, (p,), ({"x": x},))[1], ({"x": x},), ({"x": x * 2},)),
    "jvp": lambda lib, x, y: lib.func.jvp(lambda x: (y @ x).tanh(), (x,), (x,)),
}  # fmt: skip


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (tuple, list)) else value.numpy()


@pytest.mark.parametrize("case", CASES)
def test_transforms_match_pytorch(case: str) -> None:
    ours, theirs = (CASES[case](lib, lib.from_numpy(X.copy()), lib.from_numpy(Y.copy())) for lib in (engine, torch))
    same(plain(ours), plain(theirs))


def same(ours: Any, theirs: Any) -> None:
    assert type(ours) is type(theirs)
    if isinstance(ours, dict):
        assert list(ours) == list(theirs)
        ours, theirs = list(ours.values()), list(theirs.values())
    if isinstance(ours, list):
        assert len(ours) == len(theirs)
        for mine, other in zip(ours, theirs, strict=True):
            same(mine, other)
    else:
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_a_module_with_other_weights() -> None:
    module = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    x, before = engine.randn(4, 3), {name: tensor.clone() for name, tensor in module.state_dict().items()}
    parameters = {name: engine.zeros_like(tensor) for name, tensor in module.named_parameters()}
    assert func.functional_call(module, parameters, x).abs().sum().item() == 0
    for name, tensor in module.named_parameters():
        assert tensor.tolist() == before[name].tolist()

    def loss(parameters: Any, x: Any) -> Any:
        return func.functional_call(module, (parameters, {}), (x,)).pow(2).sum()

    given = dict(module.named_parameters())
    result = func.grad(loss)({name: tensor.detach() for name, tensor in given.items()}, x)
    module(x).pow(2).sum().backward()
    for name, tensor in given.items():
        assert tensor.grad is not None
        np.testing.assert_allclose(result[name].numpy(), tensor.grad.numpy(), rtol=1e-6)


def test_tied_weights() -> None:
    module = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    module[1].weight = module[0].weight
    zeros, x = {"0.weight": engine.zeros(2, 2)}, engine.ones(1, 2)
    assert func.functional_call(module, zeros, x).tolist() == module[1].bias.unsqueeze(0).tolist()
    assert (
        func.functional_call(module, zeros, x, tie_weights=False).tolist() == module[1](module[0].bias[None]).tolist()
    )


def test_a_tangent_kernel() -> None:
    """Contracted from products with the Jacobian of a model, and from the Jacobian itself."""
    result = []
    for lib in (engine, torch):
        model = lib.nn.Sequential(lib.nn.Linear(3, 4), lib.nn.Tanh(), lib.nn.Linear(4, 2)).double()
        numbers = np.random.default_rng(0)
        with lib.no_grad():
            for p in model.parameters():
                p.copy_(lib.from_numpy(numbers.normal(size=tuple(p.shape))))
        parameters = {name: p.detach() for name, p in model.named_parameters()}
        x1, x2 = lib.from_numpy(Y.copy()), lib.from_numpy(X.copy())[None]

        def at(x: Any, model: Any = model, lib: Any = lib) -> Callable[[Any], Any]:
            return lambda given: lib.func.functional_call(model, given, (x,))

        out, back = lib.func.vjp(at(x2), parameters)
        rows = [lib.func.jvp(at(x1), (parameters,), back(lib.eye(2).double()[i : i + 1]))[1] for i in range(2)]
        result.append((out.numpy(), lib.stack(rows).numpy()))
        one, other = (lib.func.jacrev(at(x))(parameters) for x in (x1, x2))
        direct: Any = sum((one[n].flatten(2) @ other[n].flatten(2).transpose(1, 2)) for n in parameters)
        np.testing.assert_allclose(direct.permute(2, 0, 1).numpy(), result[-1][1], rtol=1e-9)
    same(list(result[0]), list(result[1]))


REFUSED_STRUCTURES: dict[str, Callable[[Any, Any], Any]] = {
    "jvp keys": lambda lib, x: lib.func.jvp(lambda p: p["a"], ({"a": x},), ({"b": x},)),
    "jvp order of keys": lambda lib, x: lib.func.jvp(lambda p: p["a"], ({"a": x, "b": x},), ({"b": x, "a": x},)),
    "jvp list": lambda lib, x: lib.func.jvp(lambda p: p[0], ([x],), ((x,),)),
    "jvp count": lambda lib, x: lib.func.jvp(lambda p: p[0], ([x],), ([x, x],)),
    "jvp number": lambda lib, x: lib.func.jvp(lambda p: p["a"] * p["n"], ({"a": x, "n": 2},), ({"a": x, "n": 2},)),
    "jvp result": lambda lib, x: lib.func.jvp(lambda p: (p, 3), (x,), (x,)),
    "jvp shape": lambda lib, x: lib.func.jvp(lambda p: p["a"], ({"a": x},), ({"a": x[:1]},)),
    "vjp keys": lambda lib, x: lib.func.vjp(lambda p: {"a": p, "b": p}, x)[1]({"b": x, "a": x}),
    "linearize keys": lambda lib, x: lib.func.linearize(lambda p: p["a"], {"a": x, "b": x})[1]({"b": x, "a": x}),
}


@pytest.mark.parametrize("case", REFUSED_STRUCTURES)
def test_refused_structures(case: str) -> None:
    for lib in (torch, engine):
        with pytest.raises((RuntimeError, ValueError)):
            REFUSED_STRUCTURES[case](lib, lib.ones(2))


def test_errors_name_the_structures() -> None:
    x = engine.ones(2)
    expected = "the tangents must have the structure of the primals, ({'a': *, 'b': [*]},), not ({'a': *},)."
    with pytest.raises(AutogradError, match=re.escape(expected)):
        func.jvp(lambda p: p["a"], ({"a": x, "b": [x]},), ({"a": x},))
    with pytest.raises(AutogradError, match=r"the result of the function must be tensors, .* not int"):
        func.jvp(lambda p: (p, 3), (x,), (x,))


def test_refused_arguments() -> None:
    with pytest.raises(AutogradError, match=r"one element, not a tensor of shape \[2\]"):
        func.grad(lambda x: x * 2)(engine.ones(2))
    with pytest.raises(AutogradError, match="argnums=1 is out of range for 1"):
        func.grad(lambda x: x.sum(), argnums=1)(engine.ones(2))
    with pytest.raises(KeyError, match="has no"):
        func.functional_call(nn.Linear(1, 1), {"wight": engine.ones(1, 1)}, engine.ones(1))
    with pytest.raises(KeyError, match="missing"):
        func.functional_call(nn.Linear(1, 1), {}, engine.ones(1), strict=True)
    with pytest.raises(AutogradError, match="shapes of the function's results"):
        func.vjp(lambda x: x * 2, engine.ones(2))[1](engine.ones(3))


# -- vmap ---------------------------------------------------------------------------------------

BATCHED: dict[str, Callable[[Any, Any, Any], Any]] = {
    "a dot product": lambda lib, x, y: lib.func.vmap(lib.dot)(y, y * 2),
    "one shared": lambda lib, x, y: lib.func.vmap(lib.dot, in_dims=(0, None))(y, x),
    "another dimension": lambda lib, x, y: lib.func.vmap(lambda a: a.sum(), in_dims=1)(y),
    "the last, as a result": lambda lib, x, y: lib.func.vmap(lambda a: a * 2, in_dims=-1, out_dims=1)(y),
    "a structure": lambda lib, x, y: lib.func.vmap(
        lambda d, z: {"sum": d["a"] + d["b"], "z": [z]}, in_dims=({"a": 0, "b": None}, 0))({"a": y, "b": x}, y[:, 0]),
    "several results": lambda lib, x, y: lib.func.vmap(lambda a: (a * 2, a.sum()), out_dims=(1, 0))(y),
    "shared result": lambda lib, x, y: lib.func.vmap(lambda a: (a, x), out_dims=(0, None))(y),
    "by keyword": lambda lib, x, y: lib.func.vmap(lambda a, b: a + b)(y, b=y),
    "twice": lambda lib, x, y: lib.func.vmap(lib.func.vmap(lambda a, b: a * b), in_dims=(None, 0))(x, y),
    "gradients by sample": lambda lib, x, y: lib.func.vmap(
        lib.func.grad(lambda w, a: (w * a).sum().tanh()), in_dims=(None, 0))(x, y),
    "a gradient through it": lambda lib, x, y: lib.func.grad(
        lambda w: lib.func.vmap(lambda a: (a * w).sin().sum())(y).sum())(x),
    "rows of a Jacobian": lambda lib, x, y: lib.func.vmap(lib.func.vjp(lambda a: y @ a, x)[1])(lib.eye(2).double()),
    "torch's own name": lambda lib, x, y: lib.vmap(lambda a: a.cumsum(0))(y),
    "linearize": lambda lib, x, y: lib.func.linearize(lambda a: (y @ a).tanh(), x)[1](x * 3),
    "linearize a dict": lambda lib, x, y: lib.func.linearize(lambda p: [y @ p["b"][0]], {"b": [x]})[1]({"b": [x * 3]}),
    "linearize two": lambda lib, x, y: lib.func.linearize(lambda a, b: {"o": b @ a, "p": a}, x, y)[1](x * 3, y),
    "dimensions by name": lambda lib, x, y: lib.func.rearrange(y.reshape(1, 2, 3), "a b c -> (c a) b 1"),
    "dimensions parted": lambda lib, x, y: lib.func.rearrange(y.reshape(6, 1), "(p q) ... -> ... q p", q=3),
}  # fmt: skip


@pytest.mark.parametrize("case", BATCHED)
def test_vmap_matches_pytorch(case: str) -> None:
    ours, theirs = (BATCHED[case](lib, lib.from_numpy(X.copy()), lib.from_numpy(Y.copy())) for lib in (engine, torch))
    same(plain(ours), plain(theirs))


REFUSED_BATCHES: dict[str, Callable[[Any], Any]] = {
    "no arguments": lambda lib: lib.func.vmap(lambda: 1)(),
    "sizes": lambda lib: lib.func.vmap(lambda a, b: a)(lib.ones(2), lib.ones(3)),
    "nothing batched": lambda lib: lib.func.vmap(lambda a: a, in_dims=None)(lib.ones(2)),
    "nothing batched of several": lambda lib: lib.func.vmap(lambda a: a, in_dims=(None,))(lib.ones(2)),
    "too few dims": lambda lib: lib.func.vmap(lambda a, b: a, in_dims=(0,))(lib.ones(2), lib.ones(2)),
    "no such dimension": lambda lib: lib.func.vmap(lambda a: a, in_dims=1)(lib.ones(2)),
    "no tensor": lambda lib: lib.func.vmap(lambda a, b: a)(lib.ones(2), 3),
    "no tensor returned": lambda lib: lib.func.vmap(lambda a: 3)(lib.ones(2)),
    "another structure": lambda lib: lib.func.vmap(lambda a: a, in_dims=([0, 0],))([lib.ones(2)]),
    "other results": lambda lib: lib.func.vmap(lambda a: a, out_dims=(0, 0))(lib.ones(2)),
    "random": lambda lib: lib.func.vmap(lambda a: a + lib.rand(1))(lib.ones(2)),
    "unknown randomness": lambda lib: lib.func.vmap(lambda a: a, randomness="none")(lib.ones(2)),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED_BATCHES)
def test_refused_batches(case: str) -> None:
    for lib in (torch, engine):
        with pytest.raises((ValueError, RuntimeError)) as refused:
            REFUSED_BATCHES[case](lib)
    assert "vmap()" in str(refused.value)


def test_random_numbers_of_samples() -> None:
    def draw(x: Any) -> Any:
        return x + engine.rand(3)

    one, other = func.vmap(draw, randomness="same")(engine.zeros(2, 3))
    assert one.tolist() == other.tolist()
    one, other = func.vmap(draw, randomness="different")(engine.zeros(2, 3))
    assert one.tolist() != other.tolist()


def test_an_ensemble() -> None:
    models = [nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)).eval() for _ in range(3)]
    parameters, buffers = func.stack_module_state(models)
    assert parameters["0.weight"].shape == (3, 4, 3)
    assert parameters["0.weight"].requires_grad
    assert parameters["0.weight"].is_leaf
    assert buffers["1.running_mean"].shape == (3, 4)
    x = engine.randn(5, 3)
    result = func.vmap(lambda p, b, x: func.functional_call(models[0], (p, b), (x,)), in_dims=(0, 0, None))(
        parameters, buffers, x
    )
    for row, model in zip(result, models, strict=True):
        np.testing.assert_allclose(row.detach().numpy(), model(x).detach().numpy(), rtol=1e-6)
    with pytest.raises(ValueError, match="of one class"):
        func.stack_module_state([nn.Linear(1, 1), nn.ReLU()])
    with pytest.raises(ValueError, match="only some models are in training mode"):
        func.stack_module_state([nn.Linear(1, 1), nn.Linear(1, 1).eval()])
    with pytest.raises(ValueError, match="list of models is empty"):
        func.stack_module_state([])


def test_batch_norm_by_sample() -> None:
    model = func.replace_all_batch_norm_modules_(nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)))
    assert list(model.state_dict()) == ["0.weight", "0.bias", "1.weight", "1.bias"]
    x = engine.randn(5, 3)
    assert model.eval()(x).tolist() == model.train()(x).tolist()


def test_refused_rearrange_patterns() -> None:
    x = engine.ones(2, 3)
    for pattern, why in {
        "a b": "one '->'",
        "a -> a": "requires 1 dimensions",
        "a b -> a c": "same names",
        "(a b) c -> a b c": "cannot be inferred",
        "a b -> [a b]": "invalid text",
    }.items():
        with pytest.raises(engine.errors.ShapeError, match=why):
            func.rearrange(x, pattern)
    with pytest.raises(engine.errors.ShapeError, match="cannot split"):
        func.rearrange(x, "(a b) c -> a b c", a=5)


# -- forward derivatives ------------------------------------------------------------------------

FORWARD: dict[str, Callable[[Any, Any, Any], Any]] = {
    "one": lambda ad, x, y: ad.make_dual(x, x * 2).sin(),
    "two": lambda ad, x, y: ad.make_dual(y, y * 2) @ ad.make_dual(x, x.exp()),
    "one of two": lambda ad, x, y: y @ ad.make_dual(x, x.exp()),
    "reused": lambda ad, x, y: sum(f(d) for d in [ad.make_dual(x, x.exp())] for f in (abs, lambda d: d * d[0])),
    "itself": lambda ad, x, y: ad.make_dual(x, x * 3),
    "in place": lambda ad, x, y: (ad.make_dual(x, x * 3) * 2).exp_(),
    "constant": lambda ad, x, y: ad.make_dual(x, x * 3).detach() * 1,
    "of no effect": lambda ad, x, y: ad.make_dual(x, x * 3).sign() * 0,
}


@pytest.mark.parametrize("case", FORWARD)
def test_forward_derivatives(case: str) -> None:
    results = []
    for lib in (engine, torch):
        ad = lib.autograd.forward_ad
        with ad.dual_level():
            result = ad.unpack_dual(FORWARD[case](ad, lib.from_numpy(X.copy()), lib.from_numpy(Y.copy())))
            assert not result.primal.requires_grad
            results.append([None if part is None else part.numpy() for part in result])
            assert result._fields == ("primal", "tangent")
    (ours, our_tangent), (theirs, their_tangent) = results
    np.testing.assert_allclose(ours, theirs)
    if their_tangent is None:
        assert our_tangent is None
    else:
        np.testing.assert_allclose(our_tangent, their_tangent)


def test_a_backward_pass_through_a_forward_derivative() -> None:
    result = []
    for lib in (engine, torch):
        ad, x = lib.autograd.forward_ad, lib.from_numpy(X.copy()).requires_grad_()
        with ad.dual_level():
            tangent = ad.unpack_dual((ad.make_dual(x, lib.from_numpy(X.copy())) ** 3).sin()).tangent
            tangent.sum().backward()
        result.append(x.grad.numpy())
    np.testing.assert_allclose(*result)


def test_a_model_of_dual_parameters() -> None:
    ad, model = engine.autograd.forward_ad, nn.Linear(3, 2)
    tangents = {name: engine.randn(*p.shape) for name, p in model.named_parameters()}
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    x = engine.randn(4, 3)
    with ad.dual_level():
        for name, value in parameters.items():
            delattr(model, name)
            setattr(model, name, ad.make_dual(value, tangents[name]))
        tangent = ad.unpack_dual(model(x)).tangent
    expected = x @ tangents["weight"].T + tangents["bias"]
    np.testing.assert_allclose(tangent.numpy(), expected.numpy(), rtol=1e-5, atol=1e-6)


def test_refused_duals() -> None:
    ad, x = engine.autograd.forward_ad, engine.ones(2)
    with pytest.raises(RuntimeError, match="there is no dual level"):
        ad.make_dual(x, x)
    assert ad.unpack_dual(x).tangent is None
    with pytest.raises(RuntimeError, match="only the innermost level"):
        ad.exit_dual_level()
    with ad.dual_level():
        with pytest.raises(RuntimeError, match="cannot be nested"):
            ad.enter_dual_level()
        for tangent in (engine.ones(3), engine.ones(2, dtype=engine.int64)):
            with pytest.raises(engine.errors.EngineError, match="the tangent must"):
                ad.make_dual(x, tangent)


def test_a_dual_keeps_the_given_tangent() -> None:
    def facts(lib: Any) -> list[Any]:
        ad = lib.autograd.forward_ad
        primal, tangent = lib.ones(2, 3), lib.full((2, 3), 2.0)
        turned = lib.full((3, 2), 2.0).t()
        with ad.dual_level():
            dual = ad.make_dual(primal, tangent)
            other = ad.unpack_dual(ad.make_dual(primal, turned)).tangent
            tangent.mul_(3)
            product = ad.unpack_dual(dual * 2).tangent
            return [ad.unpack_dual(dual).tangent is tangent, other is turned, other.stride(), product.tolist()]

    assert facts(engine) == facts(torch)


TANGENTS = [("float32", "float64"), ("float64", "float32"), ("float32", "float16"), ("float16", "float32")]


@pytest.mark.parametrize(("dtype", "other"), TANGENTS)
def test_tangents_of_another_dtype(dtype: str, other: str) -> None:
    def facts(lib: Any) -> list[tuple[str, list[float]]]:
        ad, kind, of_tangent = lib.autograd.forward_ad, getattr(lib, dtype), getattr(lib, other)
        x, tangent = lib.full((2, 3), 0.75, dtype=kind), lib.full((2, 3), 0.3, dtype=of_tangent)
        turned = lib.full((3, 2), 0.3, dtype=of_tangent).t()
        with ad.dual_level():
            dual = ad.make_dual(x, tangent)
            assert ad.unpack_dual(dual).tangent is tangent
            results = [
                ad.make_dual(x, turned),
                dual.sin(),
                dual * dual,
                dual**3,
                dual + ad.make_dual(x, x),
                dual.relu(),
            ]
            parts = [part for result in results for part in ad.unpack_dual(result)]
        return [(str(part.dtype).rpartition(".")[2], part.flatten().tolist()) for part in parts]

    for (ours, numbers), (theirs, expected) in zip(facts(engine), facts(torch), strict=True):
        assert ours == theirs
        np.testing.assert_allclose(numbers, expected, rtol=2e-3 if "float16" in (dtype, other) else 1e-6)
