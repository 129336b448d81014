"""Every declared loss against PyTorch's of the same name, and what it refuses."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import engine
from engine import nn
from engine.errors import DTypeError, ShapeError
from engine.nn import functional as F
from engine.nn.functional.reduction import exact_shapes
from engine.registry import LOSSES
from engine.shape import Dim

torch = pytest.importorskip("torch")

Array = np.ndarray[Any, Any]
Draw = Callable[[np.random.Generator], Array]


def normal(*shape: int) -> Draw:
    return lambda random: random.standard_normal(shape)


def unit(*shape: int) -> Draw:
    return lambda random: random.uniform(0.01, 0.99, shape)


def classes(count: int, *shape: int, ignored: int | None = None) -> Draw:
    def draw(random: np.random.Generator) -> Array:
        samples = random.integers(0, count, shape)
        if ignored is not None:
            samples.reshape(-1)[::3] = ignored
        return samples

    return draw


def log_probabilities(*shape: int) -> Draw:
    def draw(random: np.random.Generator) -> Array:
        x = random.standard_normal(shape)
        return x - np.log(np.exp(x).sum(1, keepdims=True))

    return draw


def signs(*shape: int) -> Draw:
    return lambda random: random.choice([-1.0, 1.0], shape)


def several_classes(count: int, *shape: int) -> Draw:
    """Different classes in each row, ended by -1; classes after that are ignored."""

    def draw(random: np.random.Generator) -> Array:
        rows = np.stack([random.permutation(count) for _ in range(int(np.prod(shape[:-1])))]).reshape(shape)
        ends = random.integers(0, count, shape[:-1])
        np.put_along_axis(rows, ends[..., None], -1, -1)
        return rows

    return draw


@dataclass(frozen=True)
class Case:
    name: str
    input: Draw
    target: Draw
    kwargs: dict[str, Any] = field(default_factory=dict)
    title: str = ""
    third: Draw | None = None
    """Arguments of forward after the first two."""

    def __str__(self) -> str:
        arguments = ", ".join(f"{k}={'…' if callable(v) else v}" for k, v in self.kwargs.items())
        return f"{self.name}({arguments}){self.title}"


CASES = [
    Case("MSELoss", normal(4, 3), normal(4, 3)),
    Case("L1Loss", normal(4, 3), normal(4, 3)),
    Case("SmoothL1Loss", normal(4, 3), normal(4, 3)),
    Case("SmoothL1Loss", normal(4, 3), normal(4, 3), {"beta": 0.5}),
    Case("SmoothL1Loss", normal(4, 3), normal(4, 3), {"beta": 0.0}),
    Case("HuberLoss", normal(4, 3), normal(4, 3)),
    Case("HuberLoss", normal(4, 3), normal(4, 3), {"delta": 0.5}),
    Case("BCELoss", unit(4, 3), unit(4, 3)),
    Case("BCELoss", unit(4, 3), unit(4, 3), {"weight": unit(3)}),
    Case("BCEWithLogitsLoss", normal(4, 3), unit(4, 3)),
    Case("BCEWithLogitsLoss", normal(4, 3), unit(4, 3), {"weight": unit(4, 1), "pos_weight": unit(3)}),
    Case("BCEWithLogitsLoss", lambda random: np.array([-200.0, -30, 0, 30, 200]), lambda random: np.arange(5) % 2),
    Case("NLLLoss", log_probabilities(6, 4), classes(4, 6)),
    Case("NLLLoss", log_probabilities(6, 4, 2, 3), classes(4, 6, 2, 3, ignored=-100), {"weight": unit(4)}, " images"),
    Case("NLLLoss", normal(4), classes(4), title=" one sample"),
    Case("CrossEntropyLoss", normal(6, 4), classes(4, 6)),
    Case("CrossEntropyLoss", normal(6, 4), classes(4, 6), {"weight": unit(4)}),
    Case("CrossEntropyLoss", normal(6, 4), classes(4, 6, ignored=-100)),
    Case("CrossEntropyLoss", normal(6, 4), classes(4, 6, ignored=2), {"ignore_index": 2, "weight": unit(4)}),
    Case("CrossEntropyLoss", normal(6, 4), classes(4, 6), {"label_smoothing": 0.1}),
    Case(
        "CrossEntropyLoss",
        normal(6, 4),
        classes(4, 6, ignored=1),
        {"label_smoothing": 0.3, "weight": unit(4), "ignore_index": 1},
    ),
    Case("CrossEntropyLoss", normal(4, 3, 2, 2), classes(3, 4, 2, 2), {"label_smoothing": 0.2}, " images"),
    Case("CrossEntropyLoss", normal(6, 4), unit(6, 4)),
    Case("CrossEntropyLoss", normal(6, 4), unit(6, 4), {"label_smoothing": 0.2, "weight": unit(4)}),
    Case("CrossEntropyLoss", normal(4, 3, 2), unit(4, 3, 2), {"weight": unit(3)}, " soft images"),
    Case("CrossEntropyLoss", lambda random: random.standard_normal((4, 3)) * 1e3, classes(3, 4), title=" large"),
    Case("CrossEntropyLoss", normal(3, 4), lambda random: np.full(3, -100), title=" all ignored"),
    Case("NLLLoss", normal(3, 4), lambda random: np.full(3, -100), {"weight": unit(4)}, " all ignored"),
    Case("NLLLoss", normal(6, 4), classes(4, 6, ignored=2), {"ignore_index": 2}),
    Case("SoftMarginLoss", normal(4, 3), signs(4, 3)),
    Case("SoftMarginLoss", lambda random: np.array([[-80.0, 80.0, 3.0]]), signs(1, 3), title=" large"),
    Case("MultiLabelSoftMarginLoss", normal(4, 3), unit(4, 3)),
    Case("MultiLabelSoftMarginLoss", normal(4, 3), unit(4, 3), {"weight": unit(3)}),
    Case("MultiMarginLoss", normal(6, 4), classes(4, 6)),
    Case("MultiMarginLoss", normal(6, 4), classes(4, 6), {"p": 2, "margin": 0.5, "weight": unit(4)}),
    Case("MultiMarginLoss", normal(4), classes(4), title=" one sample"),
    Case("MultiLabelMarginLoss", normal(6, 4), several_classes(4, 6, 4)),
    Case("MultiLabelMarginLoss", normal(4), several_classes(4, 4), title=" one sample"),
    Case("PoissonNLLLoss", normal(4, 3), lambda random: random.poisson(3.0, (4, 3)).astype(float)),
    Case("PoissonNLLLoss", unit(4, 3), lambda random: random.poisson(3.0, (4, 3)) * 1.0, {"log_input": False}),
    Case("PoissonNLLLoss", normal(4, 3), lambda random: random.poisson(3.0, (4, 3)) * 1.0, {"full": True}),
    Case("PoissonNLLLoss", unit(4, 3), lambda random: np.ones((4, 3)), {"log_input": False, "eps": 0.3}),
    Case("GaussianNLLLoss", normal(4, 3), normal(4, 3), third=unit(4, 3)),
    Case("GaussianNLLLoss", normal(4, 3), normal(4, 3), {"full": True, "eps": 0.5}, third=unit(4, 1)),
    Case("GaussianNLLLoss", normal(4, 3), normal(4, 3), title=" rows", third=unit(4)),
    Case("KLDivLoss", log_probabilities(4, 3), unit(4, 3)),
    Case("KLDivLoss", log_probabilities(4, 3), normal(4, 3), {"log_target": True}),
    Case("KLDivLoss", log_probabilities(4, 3), lambda random: np.eye(4, 3), title=" certain"),
    Case("HingeEmbeddingLoss", normal(4, 3), signs(4, 3)),
    Case("HingeEmbeddingLoss", normal(4, 3), signs(4, 3), {"margin": 0.2}),
    Case("CosineEmbeddingLoss", normal(4, 3), normal(4, 3), third=signs(4)),
    Case("CosineEmbeddingLoss", normal(4, 3), normal(4, 3), {"margin": 0.3}, third=signs(4)),
    Case("MarginRankingLoss", normal(5), normal(5), third=signs(5)),
    Case("MarginRankingLoss", normal(5, 2), normal(5, 2), {"margin": 0.5}, third=signs(5, 2)),
    Case("TripletMarginLoss", normal(4, 3), normal(4, 3), third=normal(4, 3)),
    Case("TripletMarginLoss", normal(4, 3), normal(4, 3), {"swap": True, "margin": 2.0}, third=normal(4, 3)),
    Case("TripletMarginLoss", normal(4, 3), normal(4, 3), {"p": 1, "eps": 1e-3}, third=normal(4, 3)),
    Case("TripletMarginWithDistanceLoss", normal(4, 3), normal(4, 3), {"swap": True}, third=normal(4, 3)),
    Case(
        "TripletMarginWithDistanceLoss",
        normal(4, 3),
        normal(4, 3),
        {"distance_function": lambda a, b: (a - b).abs().sum(-1), "margin": 0.5},
        " by hand",
        normal(4, 3),
    ),
]


ONCE = {"MultiMarginLoss", "MultiLabelMarginLoss"}
"""Those that PyTorch can differentiate only once."""


def is_draw(name: str, value: Any) -> bool:
    return callable(value) and name != "distance_function"


def as_dtype(values: Array, dtype: str) -> Array:
    return values.astype(dtype) if values.dtype.kind == "f" else values


def arrays_of(case: Case, dtype: str, seed: int) -> tuple[dict[str, Any], list[Array]]:
    """The constructor's arguments and those of forward."""
    random = np.random.default_rng(seed)
    arguments = {k: as_dtype(v(random), dtype) if is_draw(k, v) else v for k, v in case.kwargs.items()}
    given = [as_dtype(draw(random), dtype) for draw in (case.input, case.target, case.third) if draw is not None]
    if given[1].dtype.kind != "f" and "BCE" in case.name:
        given[1] = given[1].astype(dtype)
    return arguments, given


def leaves_of(library: Any, given: list[Array]) -> list[Any]:
    return [library.tensor(array, requires_grad=array.dtype.kind == "f") for array in given]


def build(library: Any, case: Case, arguments: dict[str, Any], **more: Any) -> Any:
    tensors = {k: library.tensor(v) if isinstance(v, np.ndarray) else v for k, v in arguments.items()}
    return getattr(library.nn, case.name)(**tensors, **more)


@pytest.mark.filterwarnings("ignore:.*(batchmean|batch size)")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_values_and_gradients(case: Case, reduction: Any, dtype: str) -> None:
    arguments, given = arrays_of(case, dtype, 0)
    mine, others = leaves_of(engine, given), leaves_of(torch, given)
    if case.name == "SoftMarginLoss":
        others[1].requires_grad_(False)  # PyTorch has no gradient there
    ours = build(engine, case, arguments, reduction=reduction)(*mine)
    theirs = build(torch, case, arguments, reduction=reduction)(*others)
    gradient = as_dtype(np.asarray(np.random.default_rng(1).standard_normal(tuple(theirs.shape))), dtype)
    ours.backward(engine.tensor(gradient))
    theirs.backward(torch.tensor(gradient))
    assert ours.dtype.name == dtype
    assert tuple(ours.shape) == tuple(theirs.shape)
    tolerance = {"rtol": 1e-5, "atol": 1e-6} if dtype == "float32" else {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), **tolerance)
    for a, b in zip(mine, others, strict=True):
        if b.grad is not None:
            assert a.grad is not None
            defined = np.isfinite(b.grad.numpy())  # PyTorch's of a target's logarithm at 0 is not
            np.testing.assert_allclose(a.grad.numpy()[defined], b.grad.numpy()[defined], **tolerance)


@pytest.mark.filterwarnings("ignore:.*(batchmean|batch size)")
@pytest.mark.parametrize("case", [c for c in CASES if c.name not in ONCE and "all ignored" not in c.title], ids=str)
def test_gradients_of_gradients(case: Case) -> None:
    arguments, given = arrays_of(case, "float64", 1)
    leaves = []
    for library, grad in ((engine, engine.grad), (torch, torch.autograd.grad)):
        leaf, *others = [library.tensor(array) for array in given]
        leaf.requires_grad_()
        # Squared, so that the first gradient depends on the input even if the loss is linear.
        loss = build(library, case, arguments)(leaf, *others) ** 2
        (gradient,) = grad(loss, [leaf], create_graph=True)
        (gradient**2).sum().backward()
        leaves.append(leaf.grad.numpy())
    np.testing.assert_allclose(*leaves, rtol=1e-10, atol=1e-12)


def test_every_loss_has_a_case() -> None:
    tried = {case.name for case in CASES} | {"CTCLoss"}  # test_ctc_loss.py
    assert {entry.target.__name__ for entry in LOSSES} == tried
    theirs = {name for name in dir(torch.nn) if name.endswith("Loss")}
    assert theirs - tried - {"AdaptiveLogSoftmaxWithLoss"} == {"LinearCrossEntropyLoss"}  # a separate kernel


@pytest.mark.parametrize("name", sorted({case.name for case in CASES} | {"CTCLoss"}))
def test_arguments_are_pytorchs(name: str) -> None:
    ours, theirs = getattr(nn, name), getattr(torch.nn, name)
    renamed = {"log_input": "input"} if name == "PoissonNLLLoss" else {}  # whose first argument PyTorch calls so
    optional = {"input_lengths", "target_lengths"}  # which PyTorch requires
    for method in ("__init__", "forward"):
        mine, other = (inspect.signature(getattr(loss, method)).parameters.values() for loss in (ours, theirs))
        expected = [(renamed.get(p.name, p.name) if method == "forward" else p.name, p.default) for p in other]
        own = [(p.name, p.empty if p.name in optional and method == "forward" else p.default) for p in mine]
        assert own == expected


@pytest.mark.filterwarnings("ignore:.*batchmean")
@pytest.mark.parametrize("case", [c for c in CASES if "one sample" not in c.title], ids=str)
def test_on_meta(case: Case) -> None:
    """A symbolic batch gives a scalar."""
    _, given = arrays_of(case, "float32", 0)
    N = Dim("N")
    tensors = [
        engine.zeros(
            N, *array.shape[1:], device="meta", dtype=engine.float32 if array.dtype.kind == "f" else engine.int64
        )
        for array in given
    ]
    assert getattr(nn, case.name)()(*tensors).shape == ()


@pytest.mark.parametrize("entry", LOSSES, ids=lambda entry: entry.key)
def test_is_documented(entry: Any) -> None:
    assert entry.summary
    assert all(parameter.help for parameter in entry.parameters)
    choices = [p.choices for p in entry.parameters if p.name == "reduction"]
    assert choices == [("mean", "sum", "none", *(["batchmean"] if entry.target is nn.KLDivLoss else []))]


def test_class_weights_are_buffers() -> None:
    loss = nn.CrossEntropyLoss(engine.ones(3))
    assert list(loss.state_dict()) == ["weight"]
    assert not list(loss.parameters())


# -- what PyTorch lets pass, and what is refused with a remedy ------------------------------------

BROADCASTING = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
SINGLE = ("binary_cross_entropy", "binary_cross_entropy_with_logits")


@pytest.mark.parametrize("name", [*BROADCASTING, *SINGLE])
@pytest.mark.parametrize(
    ("input", "target", "remedy"),
    [
        ((64, 1), (64,), r"input\.squeeze\(-1\)"),
        ((64,), (64, 1), r"target\.squeeze\(-1\)"),
        ((64, 3), (3,), "same shape"),
    ],
)
def test_broadcast_shapes_warn(name: str, input: Any, target: Any, remedy: str) -> None:
    rows, answers = (np.random.default_rng(0).uniform(0, 1, shape) for shape in (input, target))
    ours = lambda: getattr(F, name)(engine.tensor(rows), engine.tensor(answers))  # noqa: E731
    with exact_shapes(), pytest.raises(ShapeError, match=remedy):
        ours()
    if name in SINGLE:
        with pytest.raises(ShapeError, match=remedy):
            ours()
        return
    torch = pytest.importorskip("torch")
    with pytest.warns(UserWarning, match=f"They broadcast.*{remedy}"):
        actual = ours()
    with pytest.warns(UserWarning, match="different to the input size"):
        expected = getattr(torch.nn.functional, name)(torch.tensor(rows), torch.tensor(answers))
    assert actual.item() == pytest.approx(expected.item())


def test_incompatible_shapes_are_refused() -> None:
    for name in BROADCASTING:
        with pytest.raises(ShapeError, match="elementwise"):
            getattr(F, name)(engine.zeros(3), engine.zeros(2))


@pytest.mark.parametrize("weight", [[-1.0, -2.0, 1.0], [-1.0, 1.0, 3.0], [0.0, 0.0, 1.0]])
def test_weights_whose_sum_is_not_positive(weight: list[float]) -> None:
    torch = pytest.importorskip("torch")
    scores, classes = np.arange(6.0).reshape(2, 3) / 7, np.array([0, 1])
    ours = F.cross_entropy(engine.tensor(scores), engine.tensor(classes), weight=engine.tensor(weight).double())
    theirs = torch.nn.functional.cross_entropy(
        torch.tensor(scores), torch.tensor(classes), weight=torch.tensor(weight).double()
    )
    np.testing.assert_allclose(ours.numpy(), theirs.numpy())


@pytest.mark.parametrize(
    ("input", "target", "message"),
    [
        ((5, 3), (4,), "requires a target of 5"),
        ((5, 3), (5, 1), r"target\.squeeze\(1\)"),
        ((5, 3, 2, 2), (5,), "5×2×2"),
    ],
)
def test_class_targets_of_another_shape(input: Any, target: Any, message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        F.cross_entropy(engine.zeros(*input), engine.zeros(*target, dtype=engine.int64))


def test_probabilities_of_another_shape() -> None:
    with pytest.raises(ShapeError, match="an integer target for class indices"):
        F.cross_entropy(engine.zeros(5, 3), engine.zeros(5))


def test_nll_loss_needs_integer_targets() -> None:
    with pytest.raises(DTypeError, match=r"target\.long\(\)"):
        F.nll_loss(engine.zeros(5, 3), engine.zeros(5))


@pytest.mark.parametrize("wrong", [3, -1])
def test_a_class_that_does_not_exist(wrong: int) -> None:
    with pytest.raises((IndexError, ShapeError)):
        F.cross_entropy(engine.zeros(2, 3), engine.tensor([0, wrong]))


def test_weight_of_another_length() -> None:
    with pytest.raises(ShapeError, match="3 classes"):
        F.cross_entropy(engine.zeros(2, 3), engine.tensor([0, 1]), weight=engine.ones(4))


def test_unknown_reduction() -> None:
    with pytest.raises(ValueError, match="'mean', 'sum' or 'none'"):
        F.mse_loss(engine.zeros(2), engine.zeros(2), reduction="average")  # pyright: ignore[reportArgumentType]


def test_an_ignored_target_does_not_count_even_if_its_loss_is_infinite() -> None:
    log_probabilities = engine.tensor([[-np.inf, 0.0], [-0.5, -1.0]], requires_grad=True)
    loss = F.nll_loss(log_probabilities, engine.tensor([-100, 1]))
    loss.backward()
    assert loss.item() == 1
    assert log_probabilities.grad is not None
    np.testing.assert_array_equal(log_probabilities.grad.numpy(), [[0, 0], [0, -1]])


def test_binary_cross_entropy_is_finite_at_0_and_1() -> None:
    loss = F.binary_cross_entropy(engine.tensor([0.0, 1.0]), engine.tensor([1.0, 0.0]), reduction="none")
    np.testing.assert_allclose(loss.numpy(), [100, 100], rtol=1e-3)


@pytest.mark.parametrize("wrong", [-0.25, 1.5, float("nan")])
@pytest.mark.parametrize("compiled", [False, True])
def test_binary_cross_entropy_refuses_values_outside_0_to_1(wrong: float, compiled: bool) -> None:
    function = engine.compile(F.binary_cross_entropy) if compiled else F.binary_cross_entropy
    target = engine.tensor([1.0, 0.0])
    for _ in range(4):
        assert function(engine.tensor([0.5, 0.5]), target).item() == pytest.approx(np.log(2))
    with pytest.raises(RuntimeError, match=rf"the input must be probabilities between 0 and 1, not {wrong:.6g}"):
        function(engine.tensor([0.5, wrong]), target).item()
    with pytest.raises(RuntimeError, match="between 0 and 1"):
        torch.nn.functional.binary_cross_entropy(torch.tensor([0.5, wrong]), torch.tensor([1.0, 0.0]))
    assert function(engine.tensor([0.5, 0.5]), target).item() == pytest.approx(np.log(2)), "it goes on"


def test_batchmean_equals_the_divergence() -> None:
    arguments = np.log([[0.2, 0.8], [0.5, 0.5]]), np.array([[0.5, 0.5], [0.0, 1.0]])
    ours = F.kl_div(*map(engine.tensor, arguments), reduction="batchmean")
    assert ours.item() == pytest.approx(
        torch.nn.functional.kl_div(*map(torch.tensor, arguments), reduction="batchmean").item()
    )
    with pytest.warns(UserWarning, match="Set reduction to batchmean"):
        F.kl_div(*map(engine.tensor, arguments))


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "huber_loss"])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_weights_of_elements(name: str, reduction: Any) -> None:
    random = np.random.default_rng(0)
    x, y, w = (random.random((4, 3)) for _ in range(3))
    ours = getattr(F, name)(engine.tensor(x), engine.tensor(y), weight=engine.tensor(w), reduction=reduction)
    theirs = getattr(torch.nn.functional, name)(
        torch.tensor(x), torch.tensor(y), weight=torch.tensor(w), reduction=reduction
    )
    np.testing.assert_allclose(ours.numpy(), theirs.numpy())
    with pytest.raises(ShapeError, match="weight must have the shape of the input, 4×3"):
        getattr(F, name)(engine.tensor(x), engine.tensor(y), weight=engine.ones(3))


@pytest.mark.parametrize("size_average", [None, False, True])
@pytest.mark.parametrize("reduce", [None, False, True])
def test_deprecated_reduction_arguments(size_average: bool | None, reduce: bool | None) -> None:
    torch = pytest.importorskip("torch")
    if size_average is None and reduce is None:
        return
    for name in ("MSELoss", "CrossEntropyLoss", "TripletMarginLoss"):
        with pytest.warns(UserWarning, match="reduction="):
            ours = getattr(nn, name)(size_average=size_average, reduce=reduce)
        with pytest.warns(UserWarning, match="reduction="):
            theirs = getattr(torch.nn, name)(size_average=size_average, reduce=reduce)
        assert ours.reduction == theirs.reduction
    x, y = engine.tensor([1.0, 5.0]), engine.tensor([2.0, 2.0])
    with pytest.warns(UserWarning, match="reduction="):
        actual = F.l1_loss(x, y, size_average, reduce)
    with pytest.warns(UserWarning, match="reduction="):
        expected = torch.nn.functional.l1_loss(torch.tensor(x.numpy()), torch.tensor(y.numpy()), size_average, reduce)
    np.testing.assert_array_equal(actual.numpy(), expected.numpy())


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: F.gaussian_nll_loss(engine.ones(2), engine.ones(2), -1.0), ValueError, "must not be negative"),
        (
            lambda: F.gaussian_nll_loss(engine.ones(2), engine.ones(2), -engine.ones(2)),
            ValueError,
            "must not be negative",
        ),
        (lambda: F.gaussian_nll_loss(engine.ones(2, 3), engine.ones(2, 3), engine.ones(3)), ShapeError, "2×3"),
        (lambda: F.gaussian_nll_loss(engine.ones(2, 3), engine.ones(2, 3), engine.ones(1, 1)), ShapeError, "2×3"),
        (lambda: F.multi_margin_loss(engine.ones(2, 3), engine.ones(2)), DTypeError, "class indices must be int64"),
        (lambda: F.multi_margin_loss(engine.ones(2, 3), engine.ones(3).long()), ShapeError, "N×C"),
        (lambda: F.multi_margin_loss(engine.ones(2, 3), engine.ones(2).long(), p=3), ValueError, "p must be 1 or 2"),
        (lambda: nn.MultiMarginLoss(p=3), ValueError, "p must be 1 or 2"),  # pyright: ignore[reportArgumentType]
        (lambda: F.multilabel_margin_loss(engine.ones(2, 3), engine.ones(2).long()), ShapeError, "one shape"),
        (lambda: F.triplet_margin_loss(*[engine.ones(2, 3)] * 3, margin=0), ValueError, "margin must be > 0"),
        (lambda: F.triplet_margin_loss(engine.ones(2, 3), engine.ones(3), engine.ones(3)), ShapeError, "dimensions"),
        (lambda: nn.TripletMarginLoss(margin=-1.0), ValueError, "margin must be > 0"),
        (lambda: nn.TripletMarginWithDistanceLoss(margin=-1.0), ValueError, "margin must be > 0"),
        (lambda: F.margin_ranking_loss(engine.ones(2), engine.ones(2, 1), engine.ones(2)), ShapeError, "dimensions"),
        (lambda: F.cosine_embedding_loss(*[engine.ones(2, 3)] * 3), ShapeError, "a target N"),
    ],
)
def test_other_refused_arguments(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_weights_may_be_a_list_of_numbers() -> None:
    scores, classes = engine.randn(6, 3), engine.tensor([0, 2, 1, 0, 1, 2])
    weighted = nn.CrossEntropyLoss(weight=(1.0, 2.0, 0.5))(scores, classes)
    expected = torch.nn.functional.cross_entropy(
        torch.tensor(scores.numpy()), torch.tensor(classes.numpy()), torch.tensor([1.0, 2.0, 0.5])
    )
    np.testing.assert_allclose(weighted.numpy(), expected.numpy(), rtol=1e-6)
    logits, answers = engine.randn(6, 3), engine.ones(6, 3)
    weighted = nn.BCEWithLogitsLoss(pos_weight=(1.0, 2.0, 0.5))(logits, answers)
    expected = torch.nn.functional.binary_cross_entropy_with_logits(
        torch.tensor(logits.numpy()), torch.ones(6, 3), pos_weight=torch.tensor([1.0, 2.0, 0.5])
    )
    np.testing.assert_allclose(weighted.numpy(), expected.numpy(), rtol=1e-6)


def test_distances_by_name() -> None:
    anchor, positive, negative = (engine.randn(5, 4) for _ in range(3))
    theirs = [torch.tensor(each.numpy()) for each in (anchor, positive, negative)]
    functions = {
        "euclidean": torch.nn.functional.pairwise_distance,
        "manhattan": torch.nn.PairwiseDistance(1.0),
        "cosine": lambda x, y: 1 - torch.nn.functional.cosine_similarity(x, y),
    }
    for name, function in functions.items():
        ours = nn.TripletMarginWithDistanceLoss(distance_function=name)(anchor, positive, negative)  # pyright: ignore[reportArgumentType]
        expected = torch.nn.TripletMarginWithDistanceLoss(distance_function=function)(*theirs)
        np.testing.assert_allclose(ours.numpy(), expected.numpy(), rtol=1e-5)
    with pytest.raises(ValueError, match="euclidean, manhattan, cosine"):
        nn.TripletMarginWithDistanceLoss(distance_function="hamming")  # pyright: ignore[reportArgumentType]
