"""Layers over sequences, images and volumes to try: name, input shape, arguments."""

from __future__ import annotations

from typing import Any

SEQUENCE, IMAGE, VOLUME = (3, 4, 11), (3, 4, 7, 6), (2, 4, 5, 6, 4)
SHAPES = {1: SEQUENCE, 2: IMAGE, 3: VOLUME}


def _in_each_dimension(name: str, *variants: dict[str, Any]) -> list[tuple[str, tuple[int, ...], dict[str, Any]]]:
    """Each variant for one, two and three dimensions; `name` has a # for their number."""
    return [
        (name.replace("#", str(ndim)), SHAPES[ndim], {key: _sides(value, ndim) for key, value in variant.items()})
        for ndim in SHAPES
        for variant in variants
    ]


class Sides(tuple[int, ...]):
    """One number per dimension; surplus ones are cut off."""

    __slots__ = ()


def _sides(value: Any, ndim: int) -> Any:
    return tuple(value[:ndim]) if isinstance(value, Sides) else value


CHANNELS = {"in_channels": 4, "out_channels": 6}
CASES = [
    *_in_each_dimension(
        "Conv#d",
        {**CHANNELS, "kernel_size": 3},
        {**CHANNELS, "kernel_size": Sides((3, 2, 3)), "stride": Sides((2, 1, 2)), "padding": Sides((1, 0, 1))},
        {**CHANNELS, "kernel_size": 3, "groups": 2, "dilation": 2, "padding": 2, "bias": False},
        {**CHANNELS, "kernel_size": 1, "stride": 2},
        {**CHANNELS, "kernel_size": Sides((4, 2, 3)), "padding": "same", "dilation": Sides((1, 3, 2))},
        {**CHANNELS, "kernel_size": 3, "padding": 1, "padding_mode": "reflect"},
        {**CHANNELS, "kernel_size": 2, "padding": "same", "padding_mode": "circular"},
        {**CHANNELS, "kernel_size": 3, "padding": 2, "padding_mode": "replicate", "stride": 3},
        {"in_channels": 4, "out_channels": 8, "kernel_size": 3, "groups": 4, "padding": 1},
    ),
    *_in_each_dimension(
        "ConvTranspose#d",
        {**CHANNELS, "kernel_size": 3},
        {**CHANNELS, "kernel_size": Sides((3, 2, 3)), "stride": 2, "padding": Sides((1, 0, 1)), "output_padding": 1},
        {**CHANNELS, "kernel_size": 2, "stride": Sides((3, 1, 2)), "groups": 2, "bias": False},
        {**CHANNELS, "kernel_size": 3, "dilation": 2, "padding": 1, "output_padding": 1},
        {**CHANNELS, "kernel_size": 1, "stride": 2},
    ),
    *_in_each_dimension(
        "MaxPool#d",
        {"kernel_size": 2},
        {"kernel_size": 3, "stride": 1, "padding": 1},
        {"kernel_size": 2, "dilation": 2, "stride": 1},
        {"kernel_size": 3, "stride": 2, "ceil_mode": True},
    ),
    *_in_each_dimension(
        "AvgPool#d",
        {"kernel_size": 2},
        {"kernel_size": 3, "stride": 2, "padding": 1},
        {"kernel_size": 3, "stride": 2, "padding": 1, "count_include_pad": False},
        {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True},
    ),
    ("AvgPool2d", IMAGE, {"kernel_size": 2, "divisor_override": 3}),
    ("AvgPool3d", VOLUME, {"kernel_size": 2, "divisor_override": 3}),
    *_in_each_dimension(
        "LPPool#d",
        {"norm_type": 2.0, "kernel_size": 2},
        {"norm_type": 4, "kernel_size": 3, "stride": 1},
        {"norm_type": 2.0, "kernel_size": 3, "stride": 2, "ceil_mode": True},
    ),
    *_in_each_dimension("AdaptiveAvgPool#d", {"output_size": 1}, {"output_size": 3}, {"output_size": 4}),
    *_in_each_dimension("AdaptiveMaxPool#d", {"output_size": 1}, {"output_size": 3}, {"output_size": 4}),
    *_in_each_dimension(
        "BatchNorm#d",
        {"num_features": 4},
        {"num_features": 4, "momentum": None, "eps": 1e-3},
        {"num_features": 4, "affine": False, "track_running_stats": False},
        {"num_features": 4, "bias": False},
    ),
    *_in_each_dimension(
        "InstanceNorm#d",
        {"num_features": 4},
        {"num_features": 4, "affine": True, "eps": 1e-3},
        {"num_features": 4, "affine": True, "track_running_stats": True, "momentum": 0.3},
        {"num_features": 4, "affine": True, "bias": False},
    ),
    ("GroupNorm", IMAGE, {"num_groups": 2, "num_channels": 4}),
    ("GroupNorm", SEQUENCE, {"num_groups": 4, "num_channels": 4, "eps": 1e-3, "affine": False}),
    ("GroupNorm", (3, 6), {"num_groups": 2, "num_channels": 6, "bias": False}),
    ("LocalResponseNorm", IMAGE, {"size": 2}),
    ("LocalResponseNorm", SEQUENCE, {"size": 3, "alpha": 0.3, "beta": 0.5, "k": 2.0}),
    ("LocalResponseNorm", VOLUME, {"size": 1}),
    *_in_each_dimension("ZeroPad#d", {"padding": 2}),
    *_in_each_dimension("ReflectionPad#d", {"padding": 2}),
    *_in_each_dimension("ReplicationPad#d", {"padding": 3}),
    *_in_each_dimension("CircularPad#d", {"padding": 2}),
    *_in_each_dimension("ConstantPad#d", {"padding": 1, "value": 3.5}, {"padding": -1, "value": 2.0}),
    ("ZeroPad2d", IMAGE, {"padding": (1, -2, 0, 3)}),
    ("ReflectionPad1d", SEQUENCE, {"padding": (3, 0)}),
    ("ReplicationPad3d", VOLUME, {"padding": (1, 0, 2, 1, 0, 3)}),
    *_in_each_dimension("Upsample", {"scale_factor": 2}, {"scale_factor": 1.5, "mode": "nearest"}, {"size": 9}),
    ("Upsample", SEQUENCE, {"size": 5, "mode": "linear"}),
    ("Upsample", IMAGE, {"scale_factor": (1.7, 0.6), "mode": "bilinear"}),
    ("Upsample", IMAGE, {"scale_factor": (1.7, 0.6), "mode": "bilinear", "recompute_scale_factor": True}),
    ("Upsample", IMAGE, {"size": (10, 9), "mode": "bicubic", "align_corners": True}),
    ("Upsample", VOLUME, {"size": (3, 8, 5), "mode": "trilinear", "align_corners": False}),
    ("UpsamplingNearest2d", IMAGE, {"scale_factor": 2}),
    ("UpsamplingNearest2d", IMAGE, {"size": (9, 5)}),
    ("UpsamplingBilinear2d", IMAGE, {"size": (9, 5)}),
    ("UpsamplingBilinear2d", IMAGE, {"scale_factor": 1.5}),
    ("Unfold", IMAGE, {"kernel_size": 2}),
    ("Unfold", IMAGE, {"kernel_size": (3, 2), "dilation": (1, 2), "padding": 1, "stride": (2, 1)}),
    ("Fold", (2, 12, 30), {"output_size": (7, 6), "kernel_size": 2}),
    ("Fold", (2, 8, 20), {"output_size": (6, 7), "kernel_size": 2, "dilation": (1, 3)}),
    ("Fold", (2, 12, 20), {"output_size": (8, 6), "kernel_size": (3, 2), "padding": (1, 0), "stride": (2, 1)}),
    ("PixelShuffle", (2, 8, 3, 4), {"upscale_factor": 2}),
    ("PixelUnshuffle", (2, 2, 6, 9), {"downscale_factor": 3}),
    ("ChannelShuffle", (2, 6, 3, 4), {"groups": 3}),
]
