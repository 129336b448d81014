"""Functions over sequences, images and volumes against PyTorch's: values, first and second gradients, odd inputs."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine
from engine import inspect, nn
from engine.errors import ShapeError
from engine.nn import functional as F
from engine.shape import Dim
from tests.engine.nn.spatial import SHAPES

torch = pytest.importorskip("torch")
T = torch.nn.functional

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def array(*shape: int, seed: int = 0, dtype: str = "float64") -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def both(arrays: list[Any]) -> tuple[list[Any], list[Any]]:
    """The arrays as tensors of both libraries; floating-point ones require gradients."""
    ours = [engine.tensor(array, requires_grad=array.dtype.kind == "f") for array in arrays]
    theirs = [torch.tensor(array, requires_grad=array.dtype.kind == "f") for array in arrays]
    return ours, theirs


def first(result: Any) -> Any:
    return result[0] if isinstance(result, tuple) else result


def compare(name: str, arrays: list[Any], kwargs: dict[str, Any], *, second: bool = True, rtol: float = 1e-9) -> None:
    """Values and gradients of `F.name`; the second ones are those of the squared length of the first."""
    ours, theirs = both(arrays)
    actual, expected = getattr(F, name)(*ours, **kwargs), getattr(T, name)(*theirs, **kwargs)
    assert isinstance(actual, tuple) is isinstance(expected, tuple)
    if isinstance(expected, tuple):
        np.testing.assert_array_equal(actual[1].numpy(), expected[1].numpy())
    actual, expected = first(actual), first(expected)
    assert tuple(actual.shape) == tuple(expected.shape)
    assert actual.dtype.name == str(expected.dtype).removeprefix("torch.")
    close(actual, expected, rtol)
    leaves = [(mine, other) for mine, other in zip(ours, theirs, strict=True) if other.requires_grad]
    weights = array(*expected.shape, seed=9, dtype=actual.dtype.name)
    slopes = engine.grad((actual * actual * engine.tensor(weights)).sum(), [a for a, _ in leaves], create_graph=second)
    wanted_slopes = torch.autograd.grad(
        (expected * expected * torch.tensor(weights)).sum(), [b for _, b in leaves], create_graph=second
    )
    for mine, other in zip(slopes, wanted_slopes, strict=True):
        close(mine, other, rtol)
    if second:
        for found_slopes in (slopes, wanted_slopes):
            total: Any = sum((slope**2).sum() for slope in found_slopes)
            total.backward()
        for mine, other in leaves:
            close(mine.grad, other.grad, rtol)


def close(ours: Any, theirs: Any, rtol: float = 1e-9) -> None:
    expected = theirs.detach().numpy()
    size = max(1.0, float(np.abs(expected).max(initial=0)))
    np.testing.assert_allclose(ours.detach().numpy(), expected, rtol=rtol, atol=rtol * size)


# -- convolution ------------------------------------------------------------------------------

CONVOLUTIONS = [
    {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    for stride, padding, dilation, groups in itertools.product((1, 2, 3), (0, 1, 3), (1, 2), (1, 2))
]


@pytest.mark.parametrize("options", CONVOLUTIONS, ids=str)
@pytest.mark.parametrize("kernel", [1, 2, 3])
def test_conv2d(options: dict[str, Any], kernel: int) -> None:
    x, weight, bias = array(2, 4, 9, 8), array(6, 4 // options["groups"], kernel, kernel, seed=1), array(6, seed=2)
    compare("conv2d", [x, weight, bias], options)


@pytest.mark.parametrize("options", [o for o in CONVOLUTIONS if o["padding"] < 2], ids=str)
@pytest.mark.parametrize("kernel", [1, 2, 3])
def test_conv_transpose2d(options: dict[str, Any], kernel: int) -> None:
    x, weight, bias = array(2, 4, 5, 6), array(4, 6 // options["groups"], kernel, kernel, seed=1), array(6, seed=2)
    for further in range(max(options["stride"], options["dilation"])):
        compare("conv_transpose2d", [x, weight, bias], options | {"output_padding": further}, second=further == 0)


@pytest.mark.parametrize("ndim", SHAPES)
@pytest.mark.parametrize("padding", [0, "same", "valid"])
def test_convolution_without_a_batch_or_with_an_empty_one(ndim: int, padding: Any) -> None:
    batch, *sizes = SHAPES[ndim]
    weight = array(3, sizes[0], *(2,) * ndim, seed=1)
    for shape in ((*sizes,), (0, *sizes), (1, *sizes)):
        compare(f"conv{ndim}d", [array(*shape), weight], {"padding": padding}, second=0 not in shape)
    back = array(sizes[0], 3, *(2,) * ndim, seed=1)
    for shape in ((*sizes,), (0, *sizes), (batch, *sizes)):
        compare(f"conv_transpose{ndim}d", [array(*shape), back], {"stride": 2}, second=0 not in shape)


@pytest.mark.parametrize("shape", [(64, 3, 40, 40), (3, 8, 96, 90), (2, 64, 40, 36), (1, 1, 200, 260)])
@pytest.mark.parametrize("options", [{"padding": 1}, {"stride": 2}, {"padding": 2, "dilation": 2}], ids=str)
def test_convolution_in_many_blocks(shape: tuple[int, ...], options: dict[str, Any]) -> None:
    """Inputs that do not fit into one block: several samples of a batch, several rows of a sample."""
    x, weight = array(*shape, dtype="float32"), array(16, shape[1], 3, 3, seed=1, dtype="float32")
    compare("conv2d", [x, weight, array(16, seed=2, dtype="float32")], options, second=False, rtol=1e-5)


@pytest.mark.parametrize("options", [{"stride": 2, "padding": 1}, {"stride": 3}, {"padding": 4}], ids=str)
def test_transposed_convolution_in_many_blocks(options: dict[str, Any]) -> None:
    x, weight = array(2, 64, 60, 50, dtype="float32"), array(64, 16, 4, 4, seed=1, dtype="float32")
    compare("conv_transpose2d", [x, weight], options, second=False, rtol=1e-5)


def test_depthwise_convolution() -> None:
    x, weight = array(4, 12, 17, 16), array(24, 1, 3, 3, seed=1)
    compare("conv2d", [x, weight], {"groups": 12, "padding": 1, "stride": 2})


@pytest.mark.parametrize("dtype", ["float16", "float32", "bfloat16"])
def test_half_precision_convolution_accumulates_in_float32(dtype: str) -> None:
    x, weight = array(1, 256, 6, 6), array(2, 256, 3, 3, seed=1)
    half, other = getattr(engine, dtype), getattr(torch, dtype)
    actual = F.conv2d(engine.tensor(x).to(half), engine.tensor(weight).to(half))
    expected = T.conv2d(torch.tensor(x).to(other), torch.tensor(weight).to(other))
    assert actual.dtype is half
    np.testing.assert_allclose(
        actual.float().numpy(), expected.float().numpy(),
        rtol={"float32": 1e-5, "float16": 2e-3, "bfloat16": 2e-2}[dtype],
        atol=1e-1 if dtype == "bfloat16" else 1e-2,
    )  # fmt: skip


def test_convolution_of_integers() -> None:
    x, weight = np.arange(32).reshape(1, 2, 4, 4), np.arange(16).reshape(2, 2, 2, 2)
    actual, expected = (
        F.conv2d(engine.tensor(x), engine.tensor(weight)),
        T.conv2d(torch.tensor(x), torch.tensor(weight)),
    )
    np.testing.assert_array_equal(actual.numpy(), expected.numpy())


def test_convolution_of_non_contiguous_tensors() -> None:
    x, weight = array(6, 8, 4, 2), array(5, 3, 4, 4, seed=1)
    result = F.conv2d(engine.tensor(x).permute(3, 2, 1, 0), engine.tensor(weight).permute(0, 2, 1, 3)[:, :, ::2])
    close(result, T.conv2d(torch.tensor(x).permute(3, 2, 1, 0), torch.tensor(weight).permute(0, 2, 1, 3)[:, :, ::2]))


def test_infinite_pixels_affect_only_their_windows() -> None:
    x = array(2, 3, 6, 7)
    x[0, 1, 2, 6], x[1, 0, 5, 0] = np.inf, np.nan
    weight = np.abs(array(2, 3, 3, 3, seed=1))
    result = F.conv2d(engine.tensor(x), engine.tensor(weight), padding=1)
    np.testing.assert_allclose(result.numpy(), T.conv2d(torch.tensor(x), torch.tensor(weight), padding=1).numpy())


def test_transposed_convolution_with_output_size() -> None:
    layer = nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1)
    assert layer(engine.ones(1, 2, 4, 5), output_size=(8, 9)).shape == (1, 3, 8, 9)
    with pytest.raises(ShapeError, match="Use 7×9 to 8×10"):
        layer(engine.ones(1, 2, 4, 5), output_size=(9, 9))


def test_multiply_adds_of_convolutions() -> None:
    x = engine.ones(2, 4, 8, 8)
    for layer, expected in (
        (nn.Conv2d(4, 6, 3), 2 * 6 * 36 * 4 * 9),
        (nn.ConvTranspose2d(4, 6, 3), 2 * 64 * 4 * 6 * 9),
    ):
        with inspect.trace() as trace:
            layer(x)
        assert sum(call.macs for call in trace.calls) == expected


# -- pooling ----------------------------------------------------------------------------------

WINDOWS = [
    {"kernel_size": kernel, "stride": stride, "padding": padding, "ceil_mode": ceil}
    for kernel, stride, padding, ceil in itertools.product((2, 3), (None, 1, 2), (0, 1), (False, True))
]


@pytest.mark.parametrize("options", WINDOWS, ids=str)
@pytest.mark.parametrize("ndim", SHAPES)
def test_pooling(ndim: int, options: dict[str, Any]) -> None:
    x = array(*SHAPES[ndim])
    for dilation in (1, 2) if ndim < 3 else (1,):
        compare(f"max_pool{ndim}d", [x], options | {"dilation": dilation, "return_indices": True})
    for counted in (False, True):
        compare(f"avg_pool{ndim}d", [x], options | {"count_include_pad": counted})


@pytest.mark.parametrize("ndim", SHAPES)
@pytest.mark.parametrize("size", [1, 2, 3, 4, 7])
def test_adaptive_pooling(ndim: int, size: int) -> None:
    x = array(*SHAPES[ndim])
    compare(f"adaptive_avg_pool{ndim}d", [x], {"output_size": size})
    compare(f"adaptive_max_pool{ndim}d", [x], {"output_size": size, "return_indices": True})
    compare(f"adaptive_avg_pool{ndim}d", [x[0]], {"output_size": size})
    compare(f"adaptive_max_pool{ndim}d", [x[0]], {"output_size": size, "return_indices": True})


def test_adaptive_pooling_keeps_a_size() -> None:
    compare("adaptive_avg_pool2d", [array(2, 3, 7, 6)], {"output_size": (None, 4)})
    compare("adaptive_max_pool2d", [array(2, 3, 7, 6)], {"output_size": (5, None)})


@pytest.mark.parametrize("ndim", SHAPES)
def test_pooling_without_a_batch_or_with_an_empty_one(ndim: int) -> None:
    for shape in (SHAPES[ndim][1:], (0, *SHAPES[ndim][1:])):
        for name in ("max_pool", "avg_pool"):
            compare(f"{name}{ndim}d", [array(*shape)], {"kernel_size": 2}, second=0 not in shape)
        compare(f"lp_pool{ndim}d", [np.abs(array(*shape))], {"norm_type": 3, "kernel_size": 2}, second=0 not in shape)


@pytest.mark.parametrize("ndim", SHAPES)
@pytest.mark.parametrize("options", [{"kernel_size": 2}, {"kernel_size": 3, "stride": 2, "padding": 1}], ids=str)
def test_max_unpooling(ndim: int, options: dict[str, Any]) -> None:
    for x in (array(*SHAPES[ndim]), array(*SHAPES[ndim][1:])):
        values, indices = (
            part.numpy() for part in getattr(T, f"max_pool{ndim}d")(torch.tensor(x), return_indices=True, **options)
        )
        sizes = x.shape[-ndim:]
        compare(f"max_unpool{ndim}d", [values, indices], options | {"output_size": sizes})
        if "padding" in options:
            continue
        compare(f"max_unpool{ndim}d", [values, indices], options)
        layer = getattr(nn, f"MaxUnpool{ndim}d")(**options)
        other = getattr(torch.nn, f"MaxUnpool{ndim}d")(**options)
        assert repr(layer) == repr(other)
        close(layer(engine.tensor(values), engine.tensor(indices)), other(torch.tensor(values), torch.tensor(indices)))


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("options", [{"output_size": 2}, {"output_ratio": 0.7}, {"output_size": 1}], ids=str)
def test_fractional_max_pooling(ndim: int, options: dict[str, Any]) -> None:
    x = array(*SHAPES[ndim])
    samples = np.random.default_rng(3).random((*x.shape[:2], ndim))
    sides = {name: (value,) * ndim for name, value in options.items()}
    kernel: Any = {"kernel_size": (2,) * ndim, "return_indices": True, **sides}
    name = f"fractional_max_pool{ndim}d"
    ours, theirs = engine.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
    actual = getattr(F, name)(ours, **kernel, _random_samples=engine.tensor(samples))
    expected = getattr(T, name)(theirs, **kernel, _random_samples=torch.tensor(samples))
    np.testing.assert_array_equal(actual[1].numpy(), expected[1].numpy())
    (actual[0] ** 2).sum().backward()
    (expected[0] ** 2).sum().backward()
    close(actual[0], expected[0])
    close(ours.grad, theirs.grad)
    layer = getattr(nn, f"FractionalMaxPool{ndim}d")(2, **options)
    assert layer(ours).shape == actual[0].shape


def test_layers_return_indices() -> None:
    x = engine.tensor(array(2, 3, 8, 8))
    values, indices = nn.MaxPool2d(2, return_indices=True)(x)
    np.testing.assert_array_equal(x.flatten(2).gather(2, indices.flatten(2)).numpy(), values.flatten(2).numpy())
    assert len(nn.AdaptiveMaxPool2d(2, return_indices=True)(x)) == 2


@pytest.mark.parametrize("dtype", ["int64", "uint8"])
def test_max_pooling_of_integers(dtype: str) -> None:
    x = np.random.default_rng(0).integers(0, 200, (2, 3, 6, 6)).astype(dtype)
    actual, expected = F.max_pool2d(engine.tensor(x), 3, 2, 1), T.max_pool2d(torch.tensor(x), 3, 2, 1)
    np.testing.assert_array_equal(actual.numpy(), expected.numpy())


def test_indices_of_equal_values_and_nan_match_pytorch() -> None:
    x = np.zeros((1, 1, 4, 6))
    x[0, 0, 1, 3] = np.nan
    compare_indices(x)
    compare_indices(np.full((1, 1, 4, 6), -np.inf))


def compare_indices(x: Any) -> None:
    ours = F.max_pool2d(engine.tensor(x), 2, return_indices=True)
    for mine, other in zip(ours, T.max_pool2d(torch.tensor(x), 2, return_indices=True), strict=True):
        np.testing.assert_array_equal(mine.numpy(), other.numpy())


# -- sizes ------------------------------------------------------------------------------------

MODES: dict[int, tuple[str, ...]] = {
    1: ("nearest", "nearest-exact", "linear", "area"),
    2: ("nearest", "nearest-exact", "bilinear", "bicubic", "area"),
    3: ("nearest", "nearest-exact", "trilinear", "area"),
}
RESIZED = [
    *({"size": size} for size in (1, 3, 10)),
    *({"scale_factor": factor} for factor in (2, 1.7, 0.6)),
    {"scale_factor": 1.7, "recompute_scale_factor": True},
]


@pytest.mark.parametrize(("ndim", "mode"), [(ndim, mode) for ndim in SHAPES for mode in MODES[ndim]])
def test_interpolation(ndim: int, mode: str) -> None:
    x = array(*SHAPES[ndim])
    corners = (None, True, False) if "linear" in mode or mode == "bicubic" else (None,)
    for options, align_corners in itertools.product(RESIZED, corners):
        compare("interpolate", [x], {"mode": mode, "align_corners": align_corners, **options}, second=False)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("options", [{"size": 10}, {"size": (3, 2)}, {"scale_factor": 0.4}], ids=str)
def test_antialiased_interpolation(mode: str, options: dict[str, Any]) -> None:
    compare("interpolate", [array(2, 3, 9, 8)], {"mode": mode, "antialias": True, **options})


def test_deprecated_upsampling_functions() -> None:
    for name in ("upsample_nearest", "upsample_bilinear", "upsample"):
        compare(name, [array(1, 2, 3, 4)], {"scale_factor": 2})


def test_interpolation_of_integers() -> None:
    x = np.arange(24, dtype=np.uint8).reshape(1, 2, 3, 4)
    actual, expected = F.interpolate(engine.tensor(x), scale_factor=2), T.interpolate(torch.tensor(x), scale_factor=2)
    np.testing.assert_array_equal(actual.numpy(), expected.numpy())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: F.interpolate(engine.ones(1, 1, 3, 3)), "either size or scale_factor"),
        (lambda: F.interpolate(engine.ones(1, 1, 3, 3), 2, mode="linear"), "Use 'bilinear' or 'bicubic'"),
        (lambda: F.interpolate(engine.ones(1, 1, 3, 3), 2, align_corners=True), "align_corners is supported only for"),
        (lambda: F.interpolate(engine.ones(1, 1, 3, 3), 2, antialias=True), "antialias is supported only for"),
        (lambda: F.interpolate(engine.ones(3, 3), 2), "3 to 5 dimensions"),
        (lambda: F.interpolate(engine.ones(1, 1, 3, 3), (2, 2, 2)), "must be one number, or 2 numbers"),
    ],
)
def test_refused_sizes(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


# -- grids ------------------------------------------------------------------------------------

GRIDS = {2: ((2, 3, 5, 6), (2, 4, 7, 2)), 3: ((2, 2, 4, 5, 3), (2, 3, 4, 2, 3))}


@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
@pytest.mark.parametrize(
    ("ndim", "mode"), [(2, "bilinear"), (2, "nearest"), (2, "bicubic"), (3, "bilinear"), (3, "nearest")]
)
@pytest.mark.parametrize("align_corners", [True, False])
def test_grid_sample(ndim: int, mode: str, padding_mode: str, align_corners: bool) -> None:
    image, places = GRIDS[ndim]
    options: Any = {"mode": mode, "padding_mode": padding_mode, "align_corners": align_corners}
    x, grid = array(*image), np.random.default_rng(1).uniform(-2.2, 2.2, places)
    if mode != "nearest":
        compare("grid_sample", [x, grid], options, second=False)
    result = F.grid_sample(engine.tensor(x), engine.tensor(grid), **options)
    close(result, T.grid_sample(torch.tensor(x), torch.tensor(grid), **options))


def test_second_gradient_of_grid_sample_equals_finite_differences() -> None:
    x, grid = array(1, 2, 4, 5), np.random.default_rng(1).uniform(-0.9, 0.9, (1, 3, 2, 2))

    def slope(places: Any) -> Any:
        leaf = engine.tensor(places, requires_grad=True)
        out = F.grid_sample(engine.tensor(x), leaf, "bicubic", align_corners=False)
        return leaf, engine.grad((out**2).sum(), [leaf], create_graph=True)[0]

    leaf, result = slope(grid)
    (result**2).sum().backward()
    for at in ((0, 0, 0, 0), (0, 2, 1, 1)):
        step = np.zeros(grid.shape)
        step[at] = 1e-6
        above, below = (float((slope(grid + sign * step)[1] ** 2).sum().item()) for sign in (1, -1))
        assert leaf.grad is not None
        assert leaf.grad.numpy()[at] == pytest.approx((above - below) / 2e-6, rel=1e-5)


@pytest.mark.parametrize("align_corners", [True, False])
@pytest.mark.parametrize("size", [(2, 1, 3, 4), (2, 3, 1, 5), (2, 1, 2, 3, 4)])
def test_affine_grid(size: tuple[int, ...], align_corners: bool) -> None:
    theta = array(2, len(size) - 2, len(size) - 1)
    compare("affine_grid", [theta], {"size": size, "align_corners": align_corners})


# -- windows as columns, channels as pixels ---------------------------------------------------


@pytest.mark.parametrize("options", [{"kernel_size": 2}, {"kernel_size": (3, 2), "padding": 1, "stride": 2}], ids=str)
def test_unfold_and_fold(options: dict[str, Any]) -> None:
    for x in (array(2, 3, 6, 7), array(3, 6, 7), array(0, 3, 6, 7)):
        compare("unfold", [x], options, second=x.size > 0)
        columns = F.unfold(engine.tensor(x), **options).numpy()
        compare("fold", [columns], options | {"output_size": (6, 7)}, second=x.size > 0)


@pytest.mark.parametrize(
    ("name", "shape", "options"),
    [
        ("pixel_shuffle", (2, 2, 12, 3, 4), {"upscale_factor": 2}),
        ("pixel_shuffle", (9, 3, 4), {"upscale_factor": 3}),
        ("pixel_unshuffle", (3, 6, 4), {"downscale_factor": 2}),
        ("channel_shuffle", (2, 6, 3), {"groups": 2}),
        ("local_response_norm", (2, 6, 3), {"size": 4, "alpha": 0.5}),
        ("group_norm", (2, 6, 3, 2), {"num_groups": 3}),
        ("instance_norm", (2, 6, 3, 2), {}),
    ],
)
def test_other_functions(name: str, shape: tuple[int, ...], options: dict[str, Any]) -> None:
    compare(name, [array(*shape)], options, rtol=1e-8)


# -- lazy layers, symbolic sizes, what is refused ---------------------------------------------

LAZY = [name for name in nn.__all__ if name.startswith("Lazy")]


@pytest.mark.parametrize("name", LAZY)
def test_lazy_layers_infer_their_input_size(name: str) -> None:
    spatial = int(name[-2]) if name.endswith("d") else 0
    given: tuple[int, ...] = () if "Norm" in name else (3,) if not spatial else (3, 2)
    x = engine.ones(2, 5, *(4,) * spatial)
    layer = getattr(nn, name)(*given)
    model = nn.Sequential(layer).eval()
    assert all(nn.parameter.is_lazy(parameter) for parameter in model.parameters())
    out = model(x)
    kind = getattr(nn, name.removeprefix("Lazy"))
    assert type(layer) is kind
    plain = kind(5, *given, **getattr(nn, name).defaults).eval()
    assert not layer.training
    assert repr(layer) == repr(plain)
    assert out.shape == plain(x).shape
    assert [tuple(p.shape) for p in model.parameters()] == [tuple(p.shape) for p in plain.parameters()]


@pytest.mark.parametrize(
    ("call", "shape"),
    [
        (lambda x: F.conv_transpose2d(x, engine.ones(4, 2, 3, 3, device="meta"), stride=2), (2, 17, 17)),
        (lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True), (4, 5, 5)),
        (lambda x: F.avg_pool2d(x, 3, 2, 1, True, False), (4, 5, 5)),
        (lambda x: F.lp_pool2d(x, 2, 2), (4, 4, 4)),
        (lambda x: F.adaptive_max_pool2d(x, (3, 5)), (4, 3, 5)),
        (lambda x: F.interpolate(x, scale_factor=1.5, mode="bicubic"), (4, 12, 12)),
        (lambda x: F.unfold(x, 3), (36, 36)),
        (lambda x: F.fold(F.unfold(x, 2), 8, 2), (4, 8, 8)),
        (lambda x: F.pixel_shuffle(x, 2), (1, 16, 16)),
        (lambda x: F.pixel_unshuffle(x, 2), (16, 4, 4)),
        (lambda x: F.channel_shuffle(x, 2), (4, 8, 8)),
        (lambda x: F.grid_sample(x, engine.ones(Dim("N"), 3, 2, 2, device="meta")), (4, 3, 2)),
        (lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), kernel_size=2), (4, 8, 8)),
    ],
)
def test_symbolic_batch(call: Callable[[Any], Any], shape: tuple[int, ...]) -> None:
    assert call(engine.ones(Dim("N"), 4, 8, 8, device="meta")).shape == (Dim("N"), *shape)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: F.conv2d(x, engine.ones(2, 3, 3)), "the weight must have 4 dimensions"),
        (lambda x: F.conv1d(x, engine.ones(2, 3, 3)), "requires an input of 3 dimensions"),
        (
            lambda x: F.conv2d(x, engine.ones(3, 4, 1, 1), groups=2),
            "3 channels of the weight are not divisible by groups=2",
        ),
        (lambda x: F.conv2d(x, engine.ones(3, 5, 1, 1)), "expects 5 channels"),
        (lambda x: F.conv2d(x, engine.ones(3, 4, 9, 9)), "does not fit"),
        (lambda x: F.conv_transpose2d(x, engine.ones(3, 4, 1, 1)), "expects 3 channels"),
        (lambda x: F.conv_transpose2d(x, engine.ones(4, 4, 1, 1), padding=9), "Reduce the padding"),
        (lambda x: F.max_pool2d(x, 2, padding=2), "at most half"),
        (lambda x: F.max_pool3d(x[0], 2), "requires an input of 5 dimensions"),
        (lambda x: F.adaptive_avg_pool2d(x, 0), "at least 1, not 0×0"),
        (lambda x: F.pixel_shuffle(x, 3), "are not divisible by 3×3"),
        (lambda x: F.channel_shuffle(x, 3), "not divisible by groups=3"),
        (lambda x: F.group_norm(x, 3), "are not divisible by num_groups=3"),
        (lambda x: F.fold(x[0], 8, 3), "does not match the input"),
        (lambda x: F.grid_sample(x, engine.ones(3, 1, 1, 2)), "the batch has 2 samples"),
    ],
)
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_shape_errors(call: Callable[[Any], Any], message: str, device: str) -> None:
    with engine.device(device), pytest.raises(ShapeError, match=message):
        call(engine.ones(2, 4, 8, 8))
