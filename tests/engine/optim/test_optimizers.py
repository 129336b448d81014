"""Every declared optimizer against PyTorch's over 20 steps, with every option, and its state both ways."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import engine
from engine import nn, optim
from engine.errors import WeightsError
from engine.registry import OPTIMIZERS, RegistryEntry

torch = pytest.importorskip("torch")

VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    ("SGD", {"lr": 0.1, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.05, "momentum": 0.5, "weight_decay": 0.1, "maximize": True}),
    ("Adam", {}),
    ("Adam", {"lr": 0.01, "betas": (0.8, 0.95), "eps": 1e-3}),
    ("Adam", {"lr": 0.01, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("Adam", {"lr": 0.01, "amsgrad": True}),
    ("Adam", {"lr": 0.01, "maximize": True, "amsgrad": True, "weight_decay": 0.1}),
    ("AdamW", {}),
    ("AdamW", {"lr": 0.01, "weight_decay": 0.3, "betas": (0.7, 0.9)}),
    ("AdamW", {"lr": 0.01, "amsgrad": True, "maximize": True}),
    ("RMSprop", {}),
    ("RMSprop", {"lr": 0.005, "alpha": 0.8, "momentum": 0.9, "weight_decay": 0.1}),
    ("RMSprop", {"centered": True}),
    ("RMSprop", {"centered": True, "momentum": 0.5, "maximize": True}),
    ("Adagrad", {}),
    ("Adagrad", {"lr_decay": 0.1, "initial_accumulator_value": 0.2, "weight_decay": 0.1}),
    ("Adagrad", {"eps": 1e-3, "maximize": True}),
    ("Adadelta", {}),
    ("Adadelta", {"lr": 0.5, "rho": 0.7, "eps": 1e-4, "weight_decay": 0.1}),
    ("Adadelta", {"maximize": True}),
    ("NAdam", {}),
    ("NAdam", {"lr": 0.01, "betas": (0.8, 0.95), "momentum_decay": 0.02, "weight_decay": 0.1}),
    ("NAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True}),
    ("RAdam", {}),
    ("RAdam", {"lr": 0.01, "betas": (0.8, 0.9), "weight_decay": 0.1}),
    ("RAdam", {"lr": 0.01, "betas": (0.8, 0.9), "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"maximize": True}),
    ("Adamax", {}),
    ("Adamax", {"lr": 0.01, "betas": (0.8, 0.9), "weight_decay": 0.1}),
    ("Adamax", {"eps": 1e-2, "maximize": True}),
    ("Rprop", {}),
    ("Rprop", {"lr": 0.1, "etas": (0.3, 1.4), "step_sizes": (1e-3, 0.5)}),
    ("Rprop", {"maximize": True}),
    ("ASGD", {}),
    ("ASGD", {"lr": 0.1, "lambd": 0.01, "alpha": 0.5, "t0": 5.0, "weight_decay": 0.1}),
    ("ASGD", {"maximize": True}),
    ("Adafactor", {}),
    ("Adafactor", {"lr": 0.1, "beta2_decay": -0.5, "eps": (1e-6, 1e-2), "d": 1.5, "weight_decay": 0.1}),
    ("Adafactor", {"maximize": True}),
]
DATA = np.random.default_rng(0)
INPUTS = DATA.standard_normal((20, 16, 5))
TARGETS = DATA.integers(0, 3, (20, 16))


def models(dtype: str) -> tuple[Any, Any]:
    ours = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3)).to(getattr(engine, dtype))
    theirs = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
    theirs.to(getattr(torch, dtype))
    theirs.load_state_dict({name: torch.tensor(tensor.numpy()) for name, tensor in ours.state_dict().items()})
    return ours, theirs


def train(library: Any, model: Any, optimizer: Any, dtype: str, steps: range) -> list[float]:
    cross_entropy = library.nn.functional.cross_entropy
    losses = []
    for step in steps:

        def closure(step: int = step) -> Any:
            optimizer.zero_grad()
            loss = cross_entropy(model(library.tensor(INPUTS[step].astype(dtype))), library.tensor(TARGETS[step]))
            loss.backward()
            return loss

        losses.append(optimizer.step(closure).item())
    return losses


def compare(ours: Any, theirs: Any, dtype: str) -> None:
    tolerance = {"rtol": 2e-4, "atol": 2e-6} if dtype == "float32" else {"rtol": 1e-10, "atol": 1e-12}
    for name, parameter in theirs.state_dict().items():
        np.testing.assert_allclose(ours.state_dict()[name].numpy(), parameter.numpy(), **tolerance)


def to_torch(value: Any) -> Any:
    """A state dict of ours as PyTorch's: the same nesting, other tensors."""
    if isinstance(value, engine.Tensor):
        return torch.tensor(value.numpy())
    if isinstance(value, dict):
        return {key: to_torch(item) for key, item in value.items()}
    return [to_torch(item) for item in value] if isinstance(value, list) else value


def to_numpy(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.numpy()
    if isinstance(value, dict):
        return {key: to_numpy(item) for key, item in value.items()}
    return [to_numpy(item) for item in value] if isinstance(value, list) else value


def test_every_optimizer_and_option_has_a_variant() -> None:
    tried = {name for name, _ in VARIANTS}
    # Muon supports only matrices, and this graph has one optimizer for all parameters; LBFGS has separate tests.
    assert {entry.target.__name__ for entry in OPTIMIZERS} == tried | {"LBFGS"}
    assert set(optim.__all__) - {"Optimizer", "lr_scheduler", "swa_utils"} == tried | {"LBFGS", "Muon"}
    for entry in (entry for entry in OPTIMIZERS if entry.target is not optim.LBFGS):
        tried = {option for name, options in VARIANTS if name == entry.target.__name__ for option in options}
        assert {parameter.name for parameter in entry.parameters} - tried <= {"eps", "lr"}


@pytest.mark.parametrize("name", sorted({name for name, _ in VARIANTS} | {"LBFGS", "Muon"}))
def test_arguments_are_pytorchs(name: str) -> None:
    """Names, order, defaults; and so the text of a repr and the keys of a state dict."""
    ours, theirs = (inspect.signature(getattr(library, name).__init__) for library in (optim, torch.optim))
    assert [(p.name, p.default, p.kind) for p in ours.parameters.values()] == [
        (p.name, p.default, p.kind) for p in theirs.parameters.values()
    ]
    shape = (2, 2) if name == "Muon" else (2,)
    parameter, their_parameter = nn.Parameter(engine.ones(shape)), torch.nn.Parameter(torch.ones(shape))
    optimizer, their_optimizer = getattr(optim, name)([parameter]), getattr(torch.optim, name)([their_parameter])
    assert repr(optimizer) == repr(their_optimizer)
    for leaf, library in ((parameter, engine), (their_parameter, torch)):
        leaf.grad = library.ones(shape)
    for each in (optimizer, their_optimizer):
        each.step(lambda: 1.0)
    state, theirs = optimizer.state_dict(), their_optimizer.state_dict()
    assert state["param_groups"] == theirs["param_groups"]
    assert {k: set(v) for k, v in state["state"].items()} == {k: set(v) for k, v in theirs["state"].items()}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_twenty_steps(name: str, options: dict[str, Any], dtype: str) -> None:
    ours, theirs = models(dtype)
    losses = train(engine, ours, getattr(optim, name)(ours.parameters(), **options), dtype, range(20))
    expected = train(torch, theirs, getattr(torch.optim, name)(theirs.parameters(), **options), dtype, range(20))
    compare(ours, theirs, dtype)
    np.testing.assert_allclose(losses, expected, rtol=1e-4 if dtype == "float32" else 1e-10)


SHAPES: tuple[tuple[int, ...], ...] = ((), (1,), (0,), (3, 0), (1, 1), (2, 3))
"""A single number, sizes of 1 and of 0, and a matrix."""


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_parameters_of_all_sizes_in_low_precision(name: str, options: dict[str, Any], dtype: str) -> None:
    """A few steps with given gradients; one has different strides than its parameter."""
    random = np.random.default_rng(0)
    shapes = [shape for shape in SHAPES if 0 not in shape or name != "Adafactor"]  # PyTorch's divides by the size
    start = [random.normal(size=shape) for shape in shapes]
    ours = [nn.Parameter(engine.tensor(value, dtype=getattr(engine, dtype))) for value in start]
    theirs = [torch.nn.Parameter(torch.tensor(value, dtype=getattr(torch, dtype))) for value in start]
    reference = getattr(torch.optim, name)(theirs, **options)
    optimizer = getattr(optim, name)(ours, **options)
    for _ in range(3):
        for mine, other in zip(ours, theirs, strict=True):
            gradient = random.normal(size=tuple(mine.shape)[::-1])
            mine.grad = engine.tensor(gradient, dtype=mine.dtype).permute(tuple(range(mine.ndim)[::-1]))
            other.grad = torch.tensor(gradient, dtype=other.dtype).permute(tuple(range(other.ndim)[::-1]))
        reference.step()
        optimizer.step()
    rounding = {"float32": 1e-5, "bfloat16": 2**-6, "float16": 2**-8}[dtype]
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(
            mine.detach().float().numpy(), other.detach().float().numpy(), rtol=rounding, atol=rounding
        )


@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_pytorch_continues_from_our_state(name: str, options: dict[str, Any]) -> None:
    ours, theirs = models("float64")
    optimizer = getattr(optim, name)(ours.parameters(), **options)
    train(engine, ours, optimizer, "float64", range(10))
    theirs.load_state_dict(to_torch(ours.state_dict()))
    their_optimizer = getattr(torch.optim, name)(theirs.parameters())
    their_optimizer.load_state_dict(to_torch(optimizer.state_dict()))
    train(engine, ours, optimizer, "float64", range(10, 20))
    train(torch, theirs, their_optimizer, "float64", range(10, 20))
    compare(ours, theirs, "float64")


@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_we_continue_from_pytorchs_state(name: str, options: dict[str, Any]) -> None:
    ours, theirs = models("float64")
    their_optimizer = getattr(torch.optim, name)(theirs.parameters(), **options)
    train(torch, theirs, their_optimizer, "float64", range(10))
    ours.load_state_dict(to_numpy(theirs.state_dict()))
    optimizer = getattr(optim, name)(ours.parameters())
    optimizer.load_state_dict(to_numpy(their_optimizer.state_dict()))
    train(engine, ours, optimizer, "float64", range(10, 20))
    train(torch, theirs, their_optimizer, "float64", range(10, 20))
    compare(ours, theirs, "float64")


@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_resumed_run_equals_the_uninterrupted_run(name: str, options: dict[str, Any]) -> None:
    whole, _ = models("float32")
    half, _ = models("float32")
    half.load_state_dict(whole.state_dict())
    train(engine, whole, getattr(optim, name)(whole.parameters(), **options), "float32", range(20))
    first = getattr(optim, name)(half.parameters(), **options)
    train(engine, half, first, "float32", range(10))
    second = getattr(optim, name)(half.parameters())
    second.load_state_dict(first.state_dict())
    train(engine, half, second, "float32", range(10, 20))
    for key, tensor in whole.state_dict().items():
        np.testing.assert_array_equal(half.state_dict()[key].numpy(), tensor.numpy())


@pytest.mark.parametrize("entry", OPTIMIZERS, ids=lambda entry: entry.key)
def test_is_documented(entry: Any) -> None:
    assert entry.summary
    assert all(parameter.help for parameter in entry.parameters)
    defaults = {p.name: p.default for p in entry.parameters if p.default is not None}
    theirs = getattr(torch.optim, entry.target.__name__)([torch.zeros(1)]).defaults
    assert defaults == {name: theirs[name] for name in defaults}


# -- Muon -------------------------------------------------------------------------------------

MUON: list[dict[str, Any]] = [
    {"lr": 0.02},
    {"lr": 0.02, "nesterov": False, "momentum": 0.8, "weight_decay": 0.0},
    {"lr": 0.02, "adjust_lr_fn": "match_rms_adamw", "ns_steps": 3, "ns_coefficients": (2.0, -1.5, 0.5)},
]


@pytest.mark.parametrize("options", MUON)
@pytest.mark.parametrize("shape", [(6, 4), (4, 6)])
def test_muon(options: dict[str, Any], shape: tuple[int, int]) -> None:
    """Equal within half precision, in which both compute the directions."""
    start, target = INPUTS[0, :6, :4].reshape(shape), INPUTS[1, :6, :4].reshape(shape)
    result, states = [], []
    for library in (engine, torch):
        weight = library.nn.Parameter(library.tensor(start.astype(np.float32)))
        optimizer = library.optim.Muon([weight], **options)
        for _ in range(5):
            optimizer.zero_grad()
            ((weight - library.tensor(target.astype(np.float32))) ** 2).sum().backward()
            optimizer.step()
        result.append(weight.detach().numpy())
        states.append(optimizer.state_dict()["state"][0]["momentum_buffer"].numpy())
    moved = np.abs(result[1] - start).max()
    np.testing.assert_allclose(result[0], result[1], atol=0.03 * moved)
    np.testing.assert_allclose(states[0], states[1], rtol=0.05, atol=0.02)


@pytest.mark.parametrize("entry", OPTIMIZERS, ids=lambda entry: entry.key)
def test_defaults_are_the_constructors_arguments(entry: RegistryEntry) -> None:
    """The signature alone declares the hyperparameters, with their defaults."""
    optimizer = entry.target([parameter_of(2)])
    declared = {n: p.default for n, p in inspect.signature(entry.target.__init__).parameters.items()}
    assert list(declared)[:2] == ["self", "params"]
    further = {"decoupled_weight_decay": True} if entry.target is optim.AdamW else {}
    resolved = {"max_eval": 25} if entry.target is optim.LBFGS else {}
    assert optimizer.defaults == dict(list(declared.items())[2:]) | further | resolved


def test_muon_is_for_matrices() -> None:
    with pytest.raises(ValueError, match=r"Muon optimizes matrices, but a parameter has shape 3\. "):
        optim.Muon(nn.Linear(2, 3).parameters())
    with pytest.raises(ValueError, match="ns_steps must be ≥ 1 and ≤ 99, not 100"):
        optim.Muon([parameter_of(2, 2)], ns_steps=100)
    with pytest.raises(ValueError, match="ns_coefficients must be 3 numbers, not 2"):
        optim.Muon([parameter_of(2, 2)], ns_coefficients=(1.0, 2.0))  # pyright: ignore[reportArgumentType]


def parameter_of(*shape: int) -> nn.Parameter:
    return nn.Parameter(engine.ones(shape))


# -- the base ---------------------------------------------------------------------------------


def parameter(*values: float) -> nn.Parameter:
    return nn.Parameter(engine.tensor(values))


def test_groups_have_separate_options() -> None:
    a, b = parameter(1.0), parameter(1.0)
    optimizer = optim.SGD([{"params": [a], "lr": 0.5}, {"params": b}], lr=0.1)
    a.grad, b.grad = engine.ones(1), engine.ones(1)
    optimizer.step()
    assert a.item() == pytest.approx(0.5)
    assert b.item() == pytest.approx(0.9)
    optimizer.param_groups[1]["lr"] = 0.4
    optimizer.step()
    assert b.item() == pytest.approx(0.5)


def test_named_parameters() -> None:
    layer = nn.Linear(1, 1)
    optimizer = optim.Adam(layer.named_parameters())
    assert optimizer.param_groups[0]["param_names"] == ["weight", "bias"]
    assert optimizer.param_groups[0]["params"] == [layer.weight, layer.bias]


def test_parameters_without_a_gradient_are_unchanged() -> None:
    a, b = parameter(1.0), parameter(1.0)
    optimizer = optim.Adam([a, b], weight_decay=0.1)
    a.grad = engine.ones(1)
    optimizer.step()
    assert b.item() == 1
    assert list(optimizer.state) == [a]


def test_closure_runs_with_gradients() -> None:
    p = parameter(3.0)
    optimizer = optim.SGD([p], lr=0.1)

    def closure() -> engine.Tensor:
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with engine.no_grad():
        assert optimizer.step(closure).item() == 9
    assert p.item() == pytest.approx(2.4)


def test_a_step_records_nothing_and_keeps_gradients() -> None:
    p = parameter(3.0)
    p.grad = engine.ones(1)
    for optimizer in (optim.SGD([p], 0.1, 0.9, weight_decay=0.1), optim.AdamW([p], maximize=True)):
        optimizer.step()
        assert p.is_leaf
        assert p.grad.tolist() == [1]


def test_zero_grad() -> None:
    p = parameter(3.0)
    optimizer = optim.SGD([p])
    p.grad = engine.ones(1)
    optimizer.zero_grad(set_to_none=False)
    assert p.grad.tolist() == [0]
    optimizer.zero_grad()
    assert p.grad is None


def test_repr() -> None:
    p = parameter(1.0)
    optimizer = optim.SGD([{"params": [p], "lr": 0.5}], momentum=0.9)
    assert repr(optimizer) == (
        "SGD (\nParameter Group 0\n    dampening: 0\n    differentiable: False\n    foreach: None\n    fused: None\n"
        "    lr: 0.5\n    maximize: False\n    momentum: 0.9\n    nesterov: False\n    weight_decay: 0\n)"
    )


@pytest.mark.filterwarnings("ignore:optimizer contains a parameter group with duplicate parameters")  # PyTorch's
@pytest.mark.parametrize(("name", "options"), [("SGD", {"lr": 0.1}), ("Adam", {"lr": 0.1}), ("RMSprop", {})])
@pytest.mark.parametrize("compiled", [False, True])
def test_a_repeated_parameter_is_updated_twice_a_step(name: str, options: dict[str, Any], compiled: bool) -> None:
    def train(lib: Any) -> tuple[list[float], dict[str, Any]]:
        p, q = (lib.tensor([value, -2.0], requires_grad=True) for value in (1.0, 3.0))
        optimizer = getattr(lib.optim, name)([p, q, p], **options)

        def step() -> None:
            optimizer.zero_grad()
            (p.sin() * q).sum().backward()
            optimizer.step()

        run = engine.compile(step) if compiled and lib is engine else step
        for _ in range(5):
            run()
        return [*p.tolist(), *q.tolist()], optimizer.state_dict()

    with pytest.warns(UserWarning, match="repeats a parameter"):
        (ours, state) = train(engine)
    theirs, expected = train(torch)
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    assert state["param_groups"][0]["params"] == expected["param_groups"][0]["params"]
    assert state["state"].keys() == expected["state"].keys()


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: optim.SGD([]), ValueError, "empty parameter list"),
        (lambda: optim.SGD(parameter(1.0)), TypeError, r"Pass \[tensor\]"),
        (lambda: optim.SGD([1.0]), TypeError, "float"),
        (lambda: optim.SGD([parameter(1.0) * 2]), ValueError, "not a leaf tensor"),
        (
            lambda: optim.SGD([{"params": [p := parameter(1.0)]}, {"params": [p]}]),
            ValueError,
            "more than one parameter",
        ),
        (lambda: optim.SGD([{"params": {parameter(1.0)}}]), TypeError, "order"),
        (lambda: optim.SGD([parameter(1.0)], lr=-1), ValueError, "lr must be ≥ 0, not -1"),
        (lambda: optim.SGD([parameter(1.0)], lr=float("nan")), ValueError, "lr must be a finite number, not nan"),
        (lambda: optim.SGD([parameter(1.0)], nesterov=True), ValueError, "nesterov requires momentum > 0"),
        (lambda: optim.Adam([parameter(1.0)], betas=(0.9, 1.0)), ValueError, "betas"),
        (lambda: optim.Adam([("a", parameter(1.0)), parameter(2.0)]), ValueError, "named"),
        (lambda: optim.Adadelta([parameter(1.0)], rho=2), ValueError, "rho must be ≥ 0 and ≤ 1, not 2"),
        (lambda: optim.Adafactor([parameter(1.0)], beta2_decay=1.0), ValueError, "beta2_decay"),
        (lambda: optim.Rprop([parameter(1.0)], etas=(1.1, 1.2)), ValueError, "etas"),
        (lambda: optim.SGD([parameter(1.0)], fused=True, foreach=True), RuntimeError, "cannot both be True"),
        (lambda: optim.SGD([parameter(1.0)], differentiable=True), NotImplementedError, "differentiable"),
        (lambda: optim.SGD([parameter(1.0)], lr=engine.ones(2)), ValueError, "one element"),
        (
            lambda: optim.LBFGS([{"params": [parameter(1.0)]}, {"params": [parameter(1.0)]}]),
            ValueError,
            "one parameter",
        ),
        (lambda: optim.LBFGS([parameter(1.0)]).step(), TypeError, "closure"),
        (lambda: optim.Optimizer([parameter(1.0)], {}).step(), NotImplementedError, "has no step"),
    ],
)
def test_refused_arguments(build: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        build()


def test_state_of_other_parameters_is_refused() -> None:
    p = parameter(1.0, 2.0)
    p.grad = engine.ones(2)
    optimizer = optim.Adam([p])
    optimizer.step()
    state = optimizer.state_dict()
    with pytest.raises(WeightsError, match=r"groups of sizes \[2\], but the state dict has \[1\]"):
        optim.Adam([parameter(1.0), parameter(1.0)]).load_state_dict(state)
    other = optim.Adam([parameter(1.0)], lr=0.5)
    with pytest.raises(WeightsError, match="exp_avg has shape 2, but the parameter has shape 1"):
        other.load_state_dict(state)
    assert other.param_groups[0]["lr"] == 0.5


# -- what programs do with optimizers -----------------------------------------------------------


def test_user_defined_optimizer() -> None:
    class Plain(optim.Optimizer):
        def __init__(self, params: Any, lr: float = 0.1) -> None:
            super().__init__(params, {"lr": lr})

        def step(self, closure: Any = None) -> None:
            for group in self.param_groups:
                for p in group["params"]:
                    self.state[p]["seen"] = self.state[p].get("seen", 0) + 1
                    p.data.add_(p.grad, alpha=-group["lr"])

    p = parameter(1.0)
    p.grad = engine.ones(1)
    optimizer = Plain([p])
    optimizer.step()
    assert p.item() == pytest.approx(0.9)
    assert optimizer.steps == 1
    assert optimizer.state_dict()["state"] == {0: {"seen": 1}}


def test_step_hooks_run_around_each_step() -> None:
    p = parameter(1.0)
    p.grad = engine.ones(1)
    optimizer = optim.SGD([p], lr=1.0)
    seen: list[Any] = []
    before = optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append(("before", o is optimizer, p.item())))
    optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append(("after", o is optimizer, p.item())))
    optimizer.step()
    before.remove()
    optimizer.step()
    assert seen == [("before", True, 1.0), ("after", True, 0.0), ("after", True, -1.0)]


def test_state_hooks() -> None:
    optimizer = optim.SGD([parameter(1.0)], lr=1.0)
    seen: list[str] = []
    optimizer.register_state_dict_pre_hook(lambda o: seen.append("save"))
    optimizer.register_state_dict_post_hook(lambda o, state: {**state, "extra": 3})
    optimizer.register_load_state_dict_pre_hook(lambda o, state: {**state, "state": {}})
    optimizer.register_load_state_dict_post_hook(lambda o: seen.append("second"))
    optimizer.register_load_state_dict_post_hook(lambda o: seen.append("first"), prepend=True)
    state = optimizer.state_dict()
    assert state["extra"] == 3
    optimizer.load_state_dict(state)
    assert seen == ["save", "first", "second"]


def test_a_learning_rate_may_be_a_tensor() -> None:
    p = parameter(1.0)
    p.grad = engine.ones(1)
    rate = engine.tensor(0.5)
    optimizer = optim.SGD([p], lr=rate)
    optimizer.step()
    rate.fill_(0.25)
    optimizer.step()
    assert p.item() == 0.25


def test_a_wrapper_may_leave_out_the_constructor() -> None:
    class Wrapper(optim.Optimizer):
        def __init__(self, inner: optim.Optimizer) -> None:
            self.inner = inner
            self.param_groups = inner.param_groups

        def step(self, closure: Any = None) -> Any:
            return self.inner.step(closure)

    p = parameter(1.0)
    wrapper = Wrapper(optim.SGD([p], lr=0.5))
    wrapper.zero_grad()
    p.sum().backward()
    wrapper.step()
    assert p.tolist() == [0.5]
