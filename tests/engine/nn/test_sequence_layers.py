"""Layers of several inputs or outputs against PyTorch's: attention, transformers, recurrence, bags, products."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import engine
from engine import nn
from engine.errors import DTypeError, ShapeError
from engine.nn import functional as F
from engine.nn.utils import rnn as pack
from engine.shape import Dim

torch = pytest.importorskip("torch")

INF = float("inf")


def normal(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(sum(shape) + len(shape)).standard_normal(shape)


def integers(high: int, *shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(high).integers(0, high, shape)


def padding(batch: int, length: int) -> np.ndarray[Any, Any]:
    """True at the last positions of some sequences."""
    return np.arange(length) >= length - np.arange(batch)[:, None]


def causal(length: int) -> np.ndarray[Any, Any]:
    return np.triu(np.full((length, length), -INF), 1)


@dataclass(frozen=True)
class Case:
    """A layer, its inputs (arrays, nested as the layer expects them), and keyword arguments of the call."""

    name: str
    args: tuple[Any, ...]
    inputs: tuple[Any, ...]
    layer: dict[str, Any] = field(default_factory=dict)
    call: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        shown = {**self.layer, **{k: "…" if isinstance(v, np.ndarray) else v for k, v in self.call.items()}}
        sizes = "x".join(str(n) for n in getattr(self.inputs[0], "shape", ()))
        return f"{self.name}{self.args}-{sizes}-{shown}"


def case(name: str, args: tuple[Any, ...], *inputs: Any, call: dict[str, Any] | None = None, **layer: Any) -> Case:
    return Case(name, args, inputs, layer, call or {})


X, Y, M = normal(5, 3, 8), normal(4, 3, 8), normal(6, 3, 8)
SMALL = {"dim_feedforward": 16, "dropout": 0.0}

ATTENTION = [
    case("MultiheadAttention", (8, 2), X, Y, Y),
    case("MultiheadAttention", (8, 2), X, X, X, bias=False, batch_first=True),
    case("MultiheadAttention", (8, 2), normal(5, 8), normal(4, 8), normal(4, 8)),
    case("MultiheadAttention", (8, 2), X, normal(4, 3, 6), normal(4, 3, 5), kdim=6, vdim=5),
    case("MultiheadAttention", (8, 2), X, Y, Y, add_bias_kv=True, add_zero_attn=True),
    case("MultiheadAttention", (8, 2), X, Y, Y, call={"key_padding_mask": padding(3, 4)}),
    case(
        "MultiheadAttention",
        (8, 2),
        X,
        Y,
        Y,
        add_bias_kv=True,
        add_zero_attn=True,
        call={"key_padding_mask": padding(3, 4), "attn_mask": normal(5, 4)},
    ),
    case("MultiheadAttention", (8, 2), X, X, X, call={"attn_mask": causal(5), "average_attn_weights": False}),
    case("MultiheadAttention", (8, 2), X, X, X, call={"attn_mask": causal(5) < 0, "key_padding_mask": padding(3, 5)}),
    case("MultiheadAttention", (8, 2), X, Y, Y, call={"attn_mask": normal(6, 5, 4), "need_weights": False}),
    case("MultiheadAttention", (8, 2), X, X, X, call={"attn_mask": causal(5), "is_causal": True}),
    *(
        case(
            "TransformerEncoderLayer", (8, 2), X, **SMALL, norm_first=first, activation=name, batch_first=batch, bias=b
        )
        for first, name, batch, b in ((False, "relu", False, True), (True, "gelu", True, False))
    ),
    case(
        "TransformerEncoderLayer",
        (8, 2),
        X,
        **SMALL,
        call={"src_mask": causal(5), "src_key_padding_mask": np.where(padding(3, 5), -INF, 0.0)},
    ),
    *(
        case("TransformerDecoderLayer", (8, 2), X, Y, **SMALL, norm_first=first, call={"tgt_mask": causal(5)})
        for first in (True, False)
    ),
    case("TransformerDecoderLayer", (8, 2), X, Y, **SMALL, call={"memory_key_padding_mask": padding(3, 4)}),
    case(
        "TransformerDecoderLayer",
        (8, 2),
        X,
        X,
        **SMALL,
        activation="gelu",
        layer_norm_eps=0.1,
        batch_first=True,
        bias=False,
    ),
    case("TransformerEncoderLayer", (8, 2), X, **SMALL, layer_norm_eps=0.1),
    case("Transformer", (8, 2, 2, 1), X, Y, **SMALL, call={"tgt_mask": causal(4)}),
    case("Transformer", (8, 2, 1, 1), X, Y, **SMALL, activation="gelu", layer_norm_eps=0.1, bias=False),
    case("Transformer", (8, 2, 1, 2), X, X, **SMALL, norm_first=True, batch_first=True),
]
SEQUENCE, ONE = normal(4, 3, 5), normal(4, 5)
UNITS = (("RNN", 1), ("LSTM", 2), ("GRU", 1))


def states(count: int, *shape: int) -> Any:
    result = tuple(normal(*shape) * (k + 0.5) for k in range(count))
    return result if count > 1 else result[0]


RECURRENT = [
    *(case(name, (5, 4), SEQUENCE) for name, _ in UNITS),
    *(case(name, (5, 4), SEQUENCE, states(n, 1, 3, 4)) for name, n in UNITS),
    *(case(name, (5, 4, 2), SEQUENCE, states(n, 4, 4, 4), bidirectional=True, batch_first=True) for name, n in UNITS),
    *(case(name, (5, 4), ONE, states(n, 1, 4), bias=False) for name, n in UNITS),
    case("RNN", (5, 4), SEQUENCE, nonlinearity="relu"),
    *(case(name, (5, 4, 3), SEQUENCE, dropout=1.0) for name, _ in UNITS),  # the one dropout that draws nothing
    case("LSTM", (5, 4, 2), SEQUENCE, proj_size=2, bidirectional=True),
    case("LSTM", (5, 4), SEQUENCE, (normal(1, 3, 2), normal(1, 3, 4)), proj_size=2),
    case("RNNCell", (5, 4), ONE),
    case("RNNCell", (5, 4), ONE, normal(4, 4), nonlinearity="relu"),
    case("RNNCell", (5, 4), normal(5), bias=False),
    case("LSTMCell", (5, 4), ONE),
    case("LSTMCell", (5, 4), ONE, bias=False),
    case("LSTMCell", (5, 4), ONE, (normal(4, 4), normal(4, 4) * 2)),
    case("GRUCell", (5, 4), ONE, normal(4, 4)),
    case("GRUCell", (5, 4), normal(5), bias=False),
]
BAGS = [
    *(case("EmbeddingBag", (7, 3), integers(7, 4, 5), mode=mode) for mode in ("sum", "mean", "max")),
    *(
        case("EmbeddingBag", (7, 3), integers(7, 9), np.array([0, 2, 2, 6]), mode=mode, padding_idx=1)
        for mode in ("sum", "mean", "max")
    ),
    case("EmbeddingBag", (7, 3), integers(7, 9), np.array([0, 4, 9]), include_last_offset=True),
    case("EmbeddingBag", (7, 3), integers(7, 4, 5), None, normal(4, 5), mode="sum"),
    case("EmbeddingBag", (7, 3), integers(7, 9), np.array([0, 4]), normal(9), mode="sum"),
    case("EmbeddingBag", (7, 3), integers(7, 4, 5), mode="sum", max_norm=1.0),
    case("EmbeddingBag", (7, 3), integers(7, 4, 5), max_norm=0.5, norm_type=1.0),
    case("Embedding", (7, 3), integers(7, 4, 5), max_norm=1.0, norm_type=1.0),
    case("Embedding", (7, 3), integers(7, 4, 5), scale_grad_by_freq=True, padding_idx=2),
    case("Embedding", (7, 3), integers(7, 0)),
]
OTHERS = [
    case("Bilinear", (3, 4, 5), normal(6, 3), normal(6, 4)),
    case("Bilinear", (3, 4, 5), normal(2, 6, 3), normal(2, 6, 4), bias=False),
    case("RMSNorm", (4,), normal(5, 4)),
    case("RMSNorm", ((5, 4),), normal(2, 5, 4), eps=0.1, elementwise_affine=False),
    case("LayerNorm", (4,), normal(0, 4)),
    case("LayerNorm", (40,), normal(3, 900, 40)),
]
CASES = [*ATTENTION, *RECURRENT, *BAGS, *OTHERS]


def flat(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [item for part in value for item in flat(part)]
    return [] if value is None else [value]


def map_nested(value: Any, make: Callable[[Any], Any]) -> Any:
    if isinstance(value, tuple):
        return tuple(map_nested(item, make) for item in value)
    return make(value) if isinstance(value, np.ndarray) else value


def ours(array: Any) -> Any:
    return engine.tensor(array, requires_grad=array.dtype.kind == "f")


def theirs(array: Any) -> Any:
    return torch.tensor(array, requires_grad=array.dtype.kind == "f")


def both(case: Case) -> tuple[Any, Any]:
    """Our layer and PyTorch's with our first weights, in double precision."""
    mine = getattr(nn, case.name)(*case.args, **case.layer).double()
    their = getattr(torch.nn, case.name)(*case.args, **case.layer).double()
    their.load_state_dict({name: torch.tensor(tensor.numpy()) for name, tensor in mine.state_dict().items()})
    return mine, their


def run(layer: Any, case: Case, make: Callable[[Any], Any]) -> tuple[list[Any], list[Any]]:
    """Outputs, and the tensors that have gradients."""
    inputs = map_nested(case.inputs, make)
    if case.name in ("MultiheadAttention", "Transformer") and all(x is case.inputs[0] for x in case.inputs):
        inputs = (inputs[0],) * len(inputs)
    masks = {name: make(v).detach() if isinstance(v, np.ndarray) else v for name, v in case.call.items()}
    outputs = [x for x in flat(layer(*inputs, **masks)) if x.is_floating_point()]
    return outputs, [*(x for x in flat(inputs) if x.requires_grad), *layer.parameters()]


def weighted_sum(outputs: list[Any], make: Callable[[Any], Any]) -> Any:
    total: Any = 0
    for x in outputs:
        weights = make(np.cos(np.arange(x.numel())).reshape(tuple(x.shape)) + 0.1).detach()
        total = total + (x * weights).sum() + (x * x * weights).sum()
    return total


def close(x: Any, y: Any) -> None:
    assert (x is None) == (y is None) or not np.any((x if y is None else y).detach().numpy())
    if x is not None and y is not None:
        assert tuple(x.shape) == tuple(y.shape)
        x, y = x.detach().numpy(), y.detach().numpy()
        np.testing.assert_allclose(
            x, y, rtol=1e-7, atol=1e-9 * max(1.0, float(np.abs(np.nan_to_num(y)).max(initial=0)))
        )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_values_and_gradients(case: Case) -> None:
    mine, their = both(case)
    (a, my_leaves), (b, their_leaves) = run(mine, case, ours), run(their, case, theirs)
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        close(x, y)
    if not any(y.numel() for y in b):
        return
    one = engine.grad(weighted_sum(a, ours), my_leaves, allow_unused=True)
    two = torch.autograd.grad(weighted_sum(b, theirs), their_leaves, allow_unused=True)
    for x, y in zip(one, two, strict=True):
        close(x, y)
    for name, value in their.state_dict().items():  # the table may have been shortened
        close(mine.state_dict()[name], value)


TWICE = ("MultiheadAttention", "RNN", "LSTM", "GRU", "Bilinear", "RMSNorm", "LayerNorm")
SECOND = [c for c in CASES if c.name in TWICE and c.call.get("need_weights", True)]
"""PyTorch's fused attention, without weights, cannot be differentiated twice."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", SECOND, ids=str)
def test_gradients_of_gradients(case: Case) -> None:
    mine, their = both(case)
    (a, my_leaves), (b, their_leaves) = run(mine, case, ours), run(their, case, theirs)
    if not any(y.numel() for y in b):
        return
    one = engine.grad(weighted_sum(a, ours), my_leaves, create_graph=True, allow_unused=True)
    two = torch.autograd.grad(weighted_sum(b, theirs), their_leaves, create_graph=True, allow_unused=True)
    one = engine.grad(sum((g * g).sum() for g in one if g is not None), my_leaves, allow_unused=True)
    two = torch.autograd.grad(sum((g * g).sum() for g in two if g is not None), their_leaves, allow_unused=True)
    for x, y in zip(one, two, strict=True):
        close(x, y)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_weights_are_exchanged_with_pytorch(case: Case) -> None:
    mine, their = both(case)
    assert list(mine.state_dict()) == list(their.state_dict())
    fresh = getattr(torch.nn, case.name)(*case.args, **case.layer).double()
    mine.load_state_dict({name: tensor.numpy() for name, tensor in fresh.state_dict().items()})
    for x, y in zip(run(mine, case, ours)[0], run(fresh, case, theirs)[0], strict=True):
        close(x, y)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_repr_matches_pytorch(case: Case) -> None:
    mine, their = both(case)
    assert repr(mine) == repr(their).replace("NonDynamicallyQuantizableLinear", "Linear")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", [c for c in CASES if c.name != "EmbeddingBag"], ids=str)
def test_shapes_on_meta(case: Case) -> None:
    real = getattr(nn, case.name)(*case.args, **case.layer)
    with engine.device("meta"):
        layer = getattr(nn, case.name)(*case.args, **case.layer)

    def single(array: Any) -> Any:
        return engine.tensor(array.astype(np.float32) if array.dtype.kind == "f" else array)

    expected, _ = run(real, case, single)
    actual, _ = run(layer, case, lambda array: single(array).to("meta"))
    assert [x.spec for x in actual] == [x.spec for x in expected]


def test_symbolic_batches() -> None:
    x = engine.zeros(Dim("N"), 5, 8, device="meta")
    with engine.device("meta"):
        layers = [nn.LSTM(8, 4, 2, batch_first=True, bidirectional=True), nn.GRU(8, 8, batch_first=True)]
        layers += [nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), nn.RMSNorm(8), nn.LayerNorm(8)]
        assert [flat(layer(x))[0].shape[:2] for layer in layers] == [(Dim("N"), 5)] * 5
        output, weights = nn.MultiheadAttention(8, 2, batch_first=True)(x, x, x)
        assert output.shape == (Dim("N"), 5, 8)
        assert weights.shape == (Dim("N"), 5, 5)


# -- first values -----------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize(
    ("name", "args", "layer"),
    [
        ("MultiheadAttention", (64, 4), {"add_bias_kv": True}),
        ("MultiheadAttention", (64, 4), {"kdim": 32, "vdim": 16}),
        ("LSTM", (64, 64), {"proj_size": 32}),
        ("GRUCell", (64, 64), {}),
        ("Bilinear", (16, 16, 32), {}),
        ("EmbeddingBag", (64, 64), {"padding_idx": 3}),
        ("Transformer", (64, 4, 1, 1, 64), {}),
    ],
)
def test_initial_values_are_distributed_like_pytorchs(name: str, args: Any, layer: dict[str, Any]) -> None:
    engine.manual_seed(0)
    torch.manual_seed(0)
    mine, their = getattr(nn, name)(*args, **layer), getattr(torch.nn, name)(*args, **layer)
    for key, tensor in their.state_dict().items():
        a, b = mine.state_dict()[key].numpy(), tensor.numpy()
        assert a.mean() == pytest.approx(b.mean(), abs=float(0.5 * b.std() + 1e-6))
        assert a.std() == pytest.approx(float(b.std()), rel=0.3)
        assert np.abs(a).max() <= np.abs(b).max() * 1.8 + 1e-6


def test_empty_bags_are_zeros() -> None:
    for mode in ("sum", "mean", "max"):
        bags = engine.nn.functional.embedding_bag(engine.zeros(4, 0, dtype=engine.int64), engine.ones(7, 3), mode=mode)
        np.testing.assert_array_equal(bags.numpy(), np.zeros((4, 3)))


# -- packed sequences -------------------------------------------------------------------------


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize(("name", "count"), UNITS)
@pytest.mark.parametrize("initial", [True, False])
def test_packed_sequences(name: str, count: int, ordered: bool, initial: bool) -> None:
    lengths = [4, 2, 1] if ordered else [2, 4, 1]
    case = Case(name, (5, 4, 2), (SEQUENCE,), {"bidirectional": True})
    mine, their = both(case)
    start = (states(count, 4, 3, 4),) if initial else ()
    results, gradients = [], []
    for layer, make, tools, grad in (
        (mine, ours, pack, engine.grad),
        (their, theirs, torch.nn.utils.rnn, torch.autograd.grad),
    ):
        x = make(SEQUENCE)
        packed = tools.pack_padded_sequence(x, lengths, enforce_sorted=ordered)
        output, state = layer(packed, *map_nested(start, make))
        padded, result = tools.pad_packed_sequence(output, padding_value=-1.0, total_length=5)
        assert result.tolist() == lengths
        results.append([padded, *flat(state)])
        gradients.append(grad(weighted_sum(results[-1], make), [x, *layer.parameters()]))
    for x, y in zip(*results, strict=True):
        close(x, y)
    for x, y in zip(*gradients, strict=True):
        close(x, y)


def test_packing_and_padding() -> None:
    arrays = [normal(2, 3), normal(4, 3), normal(1, 3)]
    mine, their = [engine.tensor(a) for a in arrays], [torch.tensor(a) for a in arrays]
    theirs_of = torch.nn.utils.rnn
    for keywords in ({}, {"batch_first": True, "padding_value": 2.0}, {"padding_side": "left"}):
        close(pack.pad_sequence(mine, **keywords), theirs_of.pad_sequence(their, **keywords))
    a, b = pack.pack_sequence(mine, enforce_sorted=False), theirs_of.pack_sequence(their, enforce_sorted=False)
    for x, y in zip(a, b, strict=True):
        close(x, y)
    for x, array in zip(pack.unpack_sequence(a), arrays, strict=True):
        np.testing.assert_array_equal(x.numpy(), array)
    padded, lengths = pack.pad_packed_sequence(a, batch_first=True)
    for x, array in zip(pack.unpad_sequence(padded, lengths, batch_first=True), arrays, strict=True):
        np.testing.assert_array_equal(x.numpy(), array)


# -- attention as a function ------------------------------------------------------------------

Q, K, V = normal(2, 4, 5, 8), normal(2, 4, 6, 8), normal(2, 4, 6, 3)


@pytest.mark.parametrize(
    ("arrays", "keywords"),
    [
        ((Q, K, V), {}),
        ((Q, K, V), {"scale": 0.3}),
        ((Q, K, V), {"is_causal": True}),
        ((Q, K, V), {"attn_mask": normal(5, 6)}),
        ((Q, K, V), {"attn_mask": normal(2, 1, 5, 6)}),
        ((Q, K, V), {"attn_mask": normal(5, 6) > 0.5}),
        ((Q, K, V), {"attn_mask": np.zeros((5, 6), bool)}),
        ((Q, K, V), {"attn_mask": np.full((5, 6), -INF)}),
        ((Q, K[:, :2], V[:, :2]), {"enable_gqa": True}),
        ((Q[0, 0], K[0, 0], V[0, 0]), {}),
        ((Q[:0], K[:0], V[:0]), {}),
        ((Q.swapaxes(0, 1), K.swapaxes(0, 1), V.swapaxes(0, 1)), {"is_causal": True}),
        ((Q * 1e3, K, V), {}),
    ],
)
def test_scaled_dot_product_attention(arrays: Any, keywords: dict[str, Any]) -> None:
    results = []
    for make, function, grad in (
        (ours, F.scaled_dot_product_attention, engine.grad),
        (theirs, torch.nn.functional.scaled_dot_product_attention, torch.autograd.grad),
    ):
        leaves = [make(a) for a in arrays]
        mask = {k: make(v).detach() if isinstance(v, np.ndarray) else v for k, v in keywords.items()}
        out = function(*leaves, **mask)
        results.append([out, *grad(weighted_sum([out], make), leaves)])
    for x, y in zip(*results, strict=True):
        close(x, y)


def test_dropout_of_attention_keeps_the_mean() -> None:
    x = engine.ones(64, 64, 4)
    result = F.scaled_dot_product_attention(x, x, x, dropout_p=0.5)
    assert float(result.mean()) == pytest.approx(1.0, abs=0.02)
    assert float(result.std()) > 0.05
    layer = nn.MultiheadAttention(4, 2, dropout=0.5)
    assert not np.array_equal(layer(x, x, x)[1].detach().numpy(), layer(x, x, x)[1].detach().numpy())
    layer.eval()
    np.testing.assert_array_equal(layer(x, x, x)[1].detach().numpy(), layer(x, x, x)[1].detach().numpy())


def test_stacks_copy_their_layer() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0)
    stack = nn.TransformerEncoder(layer, 2, nn.LayerNorm(8))
    x = engine.tensor(X, dtype=engine.float32)
    expected = stack.norm(copy.deepcopy(layer)(layer(x)))
    np.testing.assert_allclose(stack(x).detach().numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-6)
    assert len({id(p) for p in stack.parameters()}) == 2 * len(list(layer.parameters())) + 2
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16), 2)
    assert decoder(x, x).shape == x.shape
    np.testing.assert_array_equal(
        nn.Transformer.generate_square_subsequent_mask(4).numpy(),
        torch.nn.Transformer.generate_square_subsequent_mask(4).numpy(),
    )


def test_dropout_between_recurrent_layers() -> None:
    layer = nn.GRU(3, 4, 2, dropout=0.5)
    x = engine.ones(5, 2, 3)
    assert not np.array_equal(layer(x)[0].detach().numpy(), layer(x)[0].detach().numpy())
    layer.eval()
    np.testing.assert_array_equal(layer(x)[0].detach().numpy(), layer(x)[0].detach().numpy())
    with pytest.warns(UserWarning, match="applies between layers"):
        nn.GRU(3, 4, dropout=0.5)


@pytest.mark.parametrize(
    ("refused", "error", "message"),
    [
        (lambda: nn.MultiheadAttention(8, 3), ValueError, "embed_dim=8 must be divisible by num_heads=3"),
        (lambda: nn.MultiheadAttention(8, 2)(engine.ones(3, 4), engine.ones(3, 4), engine.ones(3, 4)), ShapeError, "8"),
        (
            lambda: nn.MultiheadAttention(4, 2)(*[engine.ones(3, 2, 4)] * 3, attn_mask=engine.ones(2, 3)),
            ShapeError,
            "attn_mask must be 3×keys",
        ),
        (
            lambda: nn.MultiheadAttention(4, 2)(*[engine.ones(3, 2, 4)] * 3, attn_mask=engine.ones(3, 3).long()),
            DTypeError,
            "attn_mask must be boolean",
        ),
        (
            lambda: nn.MultiheadAttention(4, 2)(*[engine.ones(3, 2, 4)] * 3, is_causal=True),
            ValueError,
            "is_causal=True requires attn_mask",
        ),
        (
            lambda: F.scaled_dot_product_attention(*[engine.ones(3, 4)] * 3, engine.ones(3, 3), is_causal=True),
            ValueError,
            "not both",
        ),
        (
            lambda: F.scaled_dot_product_attention(*[engine.ones(3, 4)] * 3, engine.ones(2, 2)),
            ShapeError,
            "does not broadcast to the weights",
        ),
        (lambda: nn.TransformerEncoderLayer(8, 2, activation="swish"), RuntimeError, "swish"),
        (lambda: nn.LSTM(5, 4)(engine.ones(3, 2, 6)), ShapeError, "LSTM: expected 5 features .* got 6"),
        (lambda: nn.LSTM(5, 4)(engine.ones(3)), ShapeError, "3 dimensions, or 2 without batch"),
        (
            lambda: nn.LSTM(5, 4)(engine.ones(3, 2, 5), (engine.ones(1, 3, 4), engine.ones(1, 2, 4))),
            ShapeError,
            "hx must be 1×2×4",
        ),
        (lambda: nn.GRU(5, 4, num_layers=0), ValueError, "must be at least 1"),
        (lambda: nn.LSTM(5, 4, proj_size=4), ValueError, "smaller than hidden_size"),
        (lambda: nn.RNN(5, 4, nonlinearity="sigmoid"), ValueError, "nonlinearity must be"),
        (lambda: nn.GRUCell(5, 4)(engine.ones(2, 5), engine.ones(2, 3)), ShapeError, "state must be 2×4, not 2×3"),
        (lambda: nn.EmbeddingBag(5, 4)(engine.ones(3).long()), ShapeError, "without offsets"),
        (lambda: nn.EmbeddingBag(5, 4)(engine.ones(3, 3)), DTypeError, "requires integer indices"),
        (
            lambda: nn.Bilinear(3, 4, 5)(engine.ones(2, 3), engine.ones(2, 3)),
            ShapeError,
            "bilinear: the weight requires inputs",
        ),
        (lambda: nn.RMSNorm(3)(engine.ones(2, 4)), ShapeError, "ends in 4"),
        (lambda: pack.pack_padded_sequence(engine.ones(4, 2, 3), [2, 4]), ShapeError, "not in descending order"),
        (lambda: pack.pack_padded_sequence(engine.ones(4, 2, 3), [4, 0]), ShapeError, "padded length 4"),
        (
            lambda: pack.pack_padded_sequence(engine.ones(4, 2, 3), [4]),
            ShapeError,
            "lengths has 1 items, .* contains 2 sequences",
        ),
        (
            lambda: pack.pad_sequence([engine.ones(2, 3), engine.ones(2, 4)]),
            ShapeError,
            "may differ only in the first dimension",
        ),
        (
            lambda: F.cross_entropy(engine.ones(2, 3), engine.tensor([0, 3])),
            IndexError,
            "3 is not one of the 3 classes",
        ),
    ],
)
def test_refused_arguments(refused: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        refused()


@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("bias", [True, False])
def test_weight_names_match_pytorch(name: str, bias: bool) -> None:
    torch = pytest.importorskip("torch")
    size = {"proj_size": 2} if name == "LSTM" else {}
    ours = getattr(engine.nn, name)(3, 4, num_layers=2, bias=bias, bidirectional=True, **size)
    theirs = getattr(torch.nn, name)(3, 4, num_layers=2, bias=bias, bidirectional=True, **size)
    assert ours._flat_weights_names == theirs._flat_weights_names
    assert [[tuple(w.shape) for w in ws] for ws in ours.all_weights] == [
        [tuple(w.shape) for w in ws] for ws in theirs.all_weights
    ]
