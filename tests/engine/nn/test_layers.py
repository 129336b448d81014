"""Every declared layer against PyTorch's of the same name: values, gradients, buffers, repr; and shapes on meta."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import engine
from engine import nn
from engine.errors import IndexRangeError, ShapeError
from engine.registry import LAYERS
from engine.shape import Dim
from tests.engine.nn import spatial
from tests.engine.nn.spatial import IMAGE
from tests.engine.nn.test_sequence_layers import CASES as SEQUENCE_CASES

torch = pytest.importorskip("torch")


@dataclass(frozen=True)
class Case:
    name: str
    shape: tuple[int, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    below: int | None = None
    """Inputs are integers from 0 to below this."""
    random: bool = False
    """Draws numbers in training, so only evaluation is compared."""
    other: dict[str, Any] = field(default_factory=dict)
    """Additional arguments that PyTorch needs."""
    coarse: bool = False
    """PyTorch computes gradients with constants in single precision, and none of gradients."""

    def __str__(self) -> str:
        return f"{self.name}-{'x'.join(map(str, self.shape))}-{'-'.join(f'{k}={v}' for k, v in self.kwargs.items())}"


def case(name: str, *shape: int, **kwargs: Any) -> Case:
    return Case(name, shape, kwargs)


CASES = [
    case("Identity", 3, 4),
    case("Linear", 5, 4, in_features=4, out_features=3),
    case("Linear", 2, 5, 4, in_features=4, out_features=3, bias=False),
    case("Linear", 4, in_features=4, out_features=3),
    case("BatchNorm1d", 5, 4, num_features=4),
    case("BatchNorm1d", 5, 4, 3, num_features=4, eps=1e-3, momentum=0.3),
    case("BatchNorm1d", 5, 4, num_features=4, affine=False),
    case("BatchNorm1d", 5, 4, num_features=4, bias=False),
    case("BatchNorm2d", *IMAGE, num_features=4),
    case("BatchNorm2d", *IMAGE, num_features=4, momentum=None),
    case("BatchNorm2d", *IMAGE, num_features=4, track_running_stats=False),
    case("LayerNorm", 5, 4, normalized_shape=4),
    case("LayerNorm", 2, 5, 4, normalized_shape=(5, 4), eps=1e-3),
    case("LayerNorm", 5, 4, normalized_shape=4, bias=False),
    case("LayerNorm", 5, 4, normalized_shape=4, elementwise_affine=False),
    Case("Dropout", (5, 4), random=True),
    Case("Dropout", (5, 4), {"p": 0.2, "inplace": True}, random=True),
    case("Flatten", 2, 3, 4, 5),
    case("Flatten", 2, 3, 4, 5, start_dim=0, end_dim=2),
    case("Unflatten", 2, 12, dim=1, unflattened_size=(3, 4)),
    case("Unflatten", 2, 12, 5, dim=-2, unflattened_size=(3, -1)),
    Case("Embedding", (2, 5), {"num_embeddings": 7, "embedding_dim": 3}, below=7),
    Case("Embedding", (6,), {"num_embeddings": 4, "embedding_dim": 3, "padding_idx": 1}, below=4),
    Case("Embedding", (6,), {"num_embeddings": 4, "embedding_dim": 3, "padding_idx": -1}, below=4),
    case("ReLU", 5, 4),
    case("ReLU", 5, 4, inplace=True),
    case("ReLU6", 5, 4),
    case("ReLU6", 5, 4, inplace=True),
    case("LeakyReLU", 5, 4),
    case("LeakyReLU", 5, 4, negative_slope=0.2, inplace=True),
    case("LeakyReLU", 5, 4, negative_slope=1.5),
    case("ELU", 5, 4),
    case("ELU", 5, 4, alpha=0.5),
    case("ELU", 5, 4, inplace=True),
    case("GELU", 5, 4),
    case("GELU", 5, 4, approximate="tanh"),
    case("SiLU", 5, 4),
    case("SiLU", 5, 4, inplace=True),
    case("Sigmoid", 5, 4),
    case("LogSigmoid", 5, 4),
    case("Tanh", 5, 4),
    case("Hardtanh", 5, 4),
    case("Hardtanh", 5, 4, min_val=-0.5, max_val=2.0),
    case("Hardtanh", 5, 4, inplace=True),
    case("Softplus", 5, 4),
    case("Softplus", 5, 4, beta=3.0, threshold=1.0),
    case("Softmax", 5, 4, dim=-1),
    case("Softmax", 2, 5, 4, dim=1),
    case("LogSoftmax", 5, 4, dim=-1),
    case("LogSoftmax", 2, 5, 4, dim=0),
    case("Softmin", 5, 4, dim=-1),
    case("Softmin", 2, 5, 4, dim=1),
    case("Softmax2d", 2, 3, 4, 5),
    case("Softmax2d", 3, 4, 5),
    case("PReLU", 5, 4),
    case("PReLU", 2, 3, 4, num_parameters=3, init=0.4),
    Case("RReLU", (5, 4), random=True),
    Case("RReLU", (5, 4), {"lower": 0.1, "upper": 0.5, "inplace": True}, random=True),
    case("CELU", 5, 4),
    case("CELU", 5, 4, alpha=0.5, inplace=True),
    case("SELU", 5, 4),
    case("SELU", 5, 4, inplace=True),
    case("Threshold", 5, 4, threshold=0.5, value=-2.0),
    case("Threshold", 5, 4, threshold=-0.5, value=7.0, inplace=True),
    case("Softsign", 5, 4),
    case("Tanhshrink", 5, 4),
    case("Mish", 5, 4),
    case("Mish", 5, 4, inplace=True),
    case("GLU", 5, 4),
    case("GLU", 5, 4, 3, dim=1),
    Case("Hardsigmoid", (5, 4), coarse=True),
    Case("Hardsigmoid", (5, 4), {"inplace": True}, coarse=True),
    case("Hardswish", 5, 4),
    case("Hardswish", 5, 4, inplace=True),
    case("Hardshrink", 5, 4),
    case("Hardshrink", 5, 4, lambd=1.5),
    case("Softshrink", 5, 4),
    case("Softshrink", 5, 4, lambd=1.5),
    Case("Dropout1d", (5, 4), random=True),
    Case("Dropout1d", (5, 4, 3), {"p": 0.2, "inplace": True}, random=True),
    Case("Dropout2d", (5, 4, 3, 2), random=True),
    Case("Dropout3d", (5, 4, 3, 2, 2), random=True),
    Case("AlphaDropout", (5, 4), random=True),
    Case("FeatureAlphaDropout", (5, 4, 3), {"p": 0.3}, random=True),
]
CASES += [Case(*row) for row in spatial.CASES]
DTYPES = ["float32", "float64"]


def ours_and_theirs(case: Case, dtype: str) -> tuple[Any, Any]:
    """Both layers, with our first weights in both."""
    ours = getattr(nn, case.name)(**case.kwargs).to(getattr(engine, dtype))
    theirs = getattr(torch.nn, case.name)(**case.kwargs, **case.other).to(getattr(torch, dtype))
    theirs.load_state_dict({name: torch.tensor(tensor.numpy()) for name, tensor in ours.state_dict().items()})
    return ours, theirs


def random_inputs(case: Case, dtype: str, seed: int = 0) -> np.ndarray[Any, Any]:
    random = np.random.default_rng(seed)
    if case.below is not None:
        return random.integers(0, case.below, case.shape)
    return (random.standard_normal(case.shape) * 2).astype(dtype)


def close(ours: Any, theirs: Any, dtype: str) -> None:
    """Equal up to rounding: sums are only as exact as their largest terms."""
    assert (ours is None) == (theirs is None)
    if ours is not None:
        assert tuple(ours.shape) == tuple(theirs.shape)
        actual, expected = ours.detach().numpy(), theirs.detach().numpy()
        rounding = 2e-6 if dtype == "float32" else 1e-13
        size = max(1.0, float(np.abs(expected).max(initial=0)))
        np.testing.assert_allclose(actual, expected, rtol=10 * rounding, atol=rounding * size)


def compare_pass(case: Case, dtype: str, ours: Any, theirs: Any, seed: int) -> None:
    """One forward and backward pass through both."""
    values = random_inputs(case, dtype, seed)
    x, y = engine.tensor(values), torch.tensor(values)
    if case.below is None:
        x.requires_grad_()
        y.requires_grad_()
    # A leaf may not be written in place, so both get a copy of it.
    output, expected = ours(x.clone()), theirs(y.clone())
    close(output, expected, dtype)
    if output.requires_grad:
        gradient = np.random.default_rng(seed + 1).standard_normal(output.shape).astype(dtype)
        output.backward(engine.tensor(gradient))
        expected.backward(torch.tensor(gradient))
        close(x.grad, y.grad, "float32" if case.coarse else dtype)
    assert output.requires_grad == expected.requires_grad
    their_parameters = dict(theirs.named_parameters())
    for name, parameter in ours.named_parameters():
        close(parameter.grad, their_parameters.pop(name).grad, dtype)
    assert not their_parameters


def test_every_layer_has_a_case() -> None:
    of_two_inputs = {"CosineSimilarity", "PairwiseDistance"}  # test_distances.py
    apart = {case.name for case in SEQUENCE_CASES}  # test_sequence_layers.py
    apart |= {"Noise", "Fill", "Halves"}  # test_generation.py: PyTorch has none of them
    apart |= {"SplitHeads", "MergeHeads", "Positions", "CausalMask"}  # test_attention_parts.py: neither of these
    apart |= {"PaddingMask", "LastStep"}  # test_sequence_steps.py: neither of these
    apart |= {"CarriedState", "RunningAverage"}  # test_carried_state.py, test_learned_tensors.py
    apart |= {"LearnedTensor", "ClassToken"}  # test_learned_tensors.py
    apart |= {"ConstantTensor", "RangeTensor", "LinspaceTensor", "IdentityMatrix"}  # test_constant_tensors.py
    apart |= {"LearnedPositions", "SinusoidalPositions"}  # test_learned_tensors.py
    assert {entry.target.__name__ for entry in LAYERS} - of_two_inputs == {case.name for case in CASES} | apart


@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_values_and_gradients(case: Case, dtype: str) -> None:
    ours, theirs = ours_and_theirs(case, dtype)
    if not case.random:
        for seed in range(2):
            compare_pass(case, dtype, ours, theirs, seed)
            ours.zero_grad()
            theirs.zero_grad()
    their_buffers = dict(theirs.named_buffers())
    for name, buffer in ours.named_buffers():
        close(buffer, their_buffers.pop(name), dtype)
    assert not their_buffers
    ours.eval()
    theirs.eval()
    compare_pass(case, dtype, ours, theirs, 7)


@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths")
@pytest.mark.parametrize("case", [c for c in CASES if c.below is None and not c.random and not c.coarse], ids=str)
def test_gradients_of_gradients(case: Case) -> None:
    """Gradients of the squared norm of the input's gradient, as in a gradient penalty."""
    ours, theirs = ours_and_theirs(case, "float64")
    values = random_inputs(case, "float64")
    x, y = engine.tensor(values, requires_grad=True), torch.tensor(values, requires_grad=True)
    penalties = []
    for grad, layer, leaf in ((engine.grad, ours, x), (torch.autograd.grad, theirs, y)):
        # Squared, so that the first gradient depends on the input even if the layer is linear.
        loss = (layer(leaf.clone()) ** 2).sum()
        (gradient,) = grad(loss, [leaf], create_graph=True)
        penalties.append((gradient**2).sum())
        penalties[-1].backward()
    close(*penalties, "float64")
    close(x.grad, y.grad, "float64")
    for name, parameter in theirs.named_parameters():
        # A bias that the penalty does not depend on has no gradient in one library, and one of zeros in the other.
        actual, expected = ours.get_parameter(name).grad, parameter.grad
        close(
            engine.zeros_like(ours.get_parameter(name)) if actual is None else actual,
            torch.zeros_like(parameter) if expected is None else expected,
            "float64",
        )


@pytest.mark.parametrize("case", CASES, ids=str)
def test_repr(case: Case) -> None:
    ours, theirs = ours_and_theirs(case, "float32")
    assert repr(ours) == repr(theirs)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_state_dict_of_pytorch_loads(case: Case) -> None:
    ours = getattr(nn, case.name)(**case.kwargs)
    theirs = getattr(torch.nn, case.name)(**case.kwargs, **case.other)
    ours.load_state_dict({name: tensor.numpy() for name, tensor in theirs.state_dict().items()})
    for name, tensor in theirs.state_dict().items():
        np.testing.assert_array_equal(ours.state_dict()[name].numpy(), tensor.numpy())


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("case", [c for c in CASES if len(c.shape) > 1 and c.kwargs.get("start_dim") != 0], ids=str)
def test_shapes_on_meta(case: Case, training: bool) -> None:
    """A symbolic batch gives the shape that numbers give, and a layer built on meta holds no numbers."""
    real = getattr(nn, case.name)(**case.kwargs).train(training)
    with engine.device("meta"):
        layer = getattr(nn, case.name)(**case.kwargs).train(training)
    assert all(tensor.is_meta for tensor in layer.state_dict().values())
    dtype = engine.float32 if case.below is None else engine.int64
    expected = real(engine.tensor(random_inputs(case, "float32"), dtype=dtype))
    N = Dim("N")
    output = layer(engine.zeros(N, *case.shape[1:], dtype=dtype, device="meta"))
    assert output.dtype is expected.dtype
    assert output.shape == (N, *expected.shape[1:])


@pytest.mark.parametrize("entry", LAYERS, ids=lambda entry: entry.key)
def test_is_documented(entry: Any) -> None:
    assert entry.summary.endswith((".", ":"))
    assert all(parameter.help for parameter in entry.parameters)


def test_inferred_arguments() -> None:
    axes = {
        entry.target.__name__: {p.name: p.from_input.axis for p in entry.parameters if p.from_input is not None}
        for entry in LAYERS
    }
    assert axes["Linear"] == {"in_features": -1}
    assert axes["Conv2d"] == axes["ConvTranspose1d"] == {"in_channels": 1}
    assert axes["BatchNorm1d"] == axes["BatchNorm2d"] == {"num_features": 1}
    assert axes["LayerNorm"] == {"normalized_shape": -1}


# -- what single layers do --------------------------------------------------------------------


def test_dropout_keeps_the_mean_and_drops_the_given_fraction() -> None:
    x = engine.ones(100_000, requires_grad=True)
    y = nn.Dropout(0.2)(x)
    y.sum().backward()
    kept = y.detach().numpy() != 0
    assert abs(kept.mean() - 0.8) < 0.01
    np.testing.assert_allclose(y.detach().numpy()[kept], 1.25)
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.numpy(), y.detach().numpy())


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_dropout_at_its_bounds(p: float) -> None:
    np.testing.assert_array_equal(nn.Dropout(p)(engine.ones(4)).numpy(), 1 - p)


def test_batch_norm_counts_batches_and_averages_them_without_momentum() -> None:
    layer = nn.BatchNorm1d(1, momentum=None)
    for value in (0.0, 4.0, 8.0):
        layer(engine.tensor([[value - 1], [value + 1]]))
    assert layer.num_batches_tracked.item() == 3
    assert layer.running_mean.item() == pytest.approx(4)
    assert layer.running_var.item() == pytest.approx(2)


@pytest.mark.parametrize("shape", [(0, 3), (2, 3, 0)])
@pytest.mark.parametrize("momentum", [None, 0.1])
def test_batch_norm_of_an_empty_batch_leaves_the_running_statistics(
    shape: tuple[int, ...], momentum: float | None
) -> None:
    layer = nn.BatchNorm1d(3, momentum=momentum)
    assert layer(engine.ones(shape)).shape == shape
    np.testing.assert_array_equal(layer.running_mean.numpy(), np.zeros(3))
    np.testing.assert_array_equal(layer.running_var.numpy(), np.ones(3))
    assert layer.num_batches_tracked.item() == 1


def test_batch_norm_of_one_value_per_channel_is_explained() -> None:
    with pytest.raises(engine.errors.ShapeError, match="drop the last batch"):
        nn.BatchNorm1d(3)(engine.ones(1, 3))
    assert nn.BatchNorm1d(3).eval()(engine.ones(1, 3)).shape == (1, 3)


def test_embedding_from_pretrained() -> None:
    table = engine.tensor([[1.0, 2.0], [3.0, 4.0]])
    layer = nn.Embedding.from_pretrained(table)
    assert not layer.weight.requires_grad
    np.testing.assert_array_equal(layer(engine.tensor([1, 0])).numpy(), [[3, 4], [1, 2]])


@pytest.mark.parametrize(
    ("layer", "shape", "message"),
    [
        (lambda: nn.Linear(128, 10), (5, 64), "128"),
        (lambda: nn.Conv2d(3, 8, 3), (2, 1, 8, 8), "3 channels"),
        (lambda: nn.Conv2d(3, 8, 3), (2, 8), "requires an input of 4 dimensions"),
        (lambda: nn.BatchNorm2d(3), (2, 4, 8, 8), "Set num_features to 4"),
        (lambda: nn.BatchNorm2d(3), (2, 3), "4 dimensions"),
        (lambda: nn.LayerNorm(3), (2, 4), "ends in 4"),
    ],
)
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_wrong_shapes_name_the_layer_and_the_sizes(layer: Any, shape: Any, message: str, device: str) -> None:
    with engine.device(device):
        built = layer()
        with pytest.raises(engine.errors.ShapeError, match=message) as caught:
            nn.Sequential(built)(engine.ones(*shape))
    assert caught.value.__notes__ == [f"in {built!r}"]


@pytest.mark.parametrize(
    "build",
    [
        lambda: nn.Dropout(1.5),
        lambda: nn.Conv2d(3, 4, 1, groups=2),
        lambda: nn.Hardtanh(1, -1),
        lambda: nn.Embedding(3, 2, padding_idx=3),
        lambda: nn.Conv2d(3, 4, 3, stride=2, padding="same")(engine.ones(1, 3, 8, 8)),
        lambda: nn.Conv2d(3, 4, 3, padding="full")(engine.ones(1, 3, 8, 8)),
    ],
)
def test_refused_arguments(build: Any) -> None:
    with pytest.raises(ValueError):
        build()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kernel_size": 0}, "kernel_size must be ≥ 1, not 0"),
        ({"kernel_size": (3, 0)}, r"kernel_size must be ≥ 1, not \(3, 0\)"),
        ({"kernel_size": 3, "stride": 0}, "stride must be ≥ 1, not 0"),
        ({"kernel_size": 3, "dilation": 0}, "dilation must be ≥ 1, not 0"),
        ({"kernel_size": 3, "padding": -1}, "padding must be ≥ 0, not -1"),
        ({"kernel_size": 3, "groups": 0}, "groups must be ≥ 1, not 0"),
    ],
)
def test_convolution_errors_name_the_argument(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        nn.Conv2d(3, 4, **arguments)


def test_layer_errors_name_the_sizes() -> None:
    image = engine.zeros(2, 4, 8, 8)
    with pytest.raises(
        ShapeError, match=r"stride must be one number, or one for each of 2 dimensions, not \(1, 2, 3\)"
    ):
        nn.AvgPool2d(2, stride=(1, 2, 3))(image)  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match=r"weight must have shape 4 \(channels\), not 6"):
        nn.GroupNorm(2, 6)(image)
    with pytest.raises(IndexRangeError, match="glu: dimension 5 is out of range"):
        nn.GLU(5)(image)


def test_local_response_norm_larger_than_the_channels() -> None:
    image = engine.rand(2, 4, 3, 3)
    near, far = nn.LocalResponseNorm(8, alpha=8.0)(image), nn.LocalResponseNorm(2**31 - 1, alpha=2.0**31 - 1)(image)
    assert engine.allclose(near, far)
