"""Sound projects with layers in unusual orders: none of them is taken for a mistake."""

from __future__ import annotations

from typing import Any

import pytest

from studio.document.model import Document, Node
from studio.reference.mistakes.projects import digits
from tests.studio.lowering.graphs import changed, codes

SCORES = Node("nn.Linear", {"out_features": 10})


def linear(features: int, **params: Any) -> Node:
    return Node("nn.Linear", {"out_features": features, **params})


def conv(channels: int, **params: Any) -> Node:
    return Node("nn.Conv2d", {"out_channels": channels, "kernel_size": 3, "padding": 1, **params})


def images(layers: dict[str, str | Node], **more: Any) -> Document:
    """Layers of images, then scores."""
    return digits({**layers, "rectified": "nn.ReLU", "flat": "nn.Flatten", "scores": SCORES}, **more)


SOUND: dict[str, Document] = {
    "depthwise and pointwise": images(
        {
            "wide": conv(8),
            "relu": "nn.ReLU",
            "depthwise": conv(8, groups=8),
            "pointwise": conv(16, kernel_size=1, padding=0),
        }
    ),
    "convolutions along one dimension each": images(
        {
            "rows": conv(8, kernel_size=[3, 1], padding=[1, 0]),
            "columns": conv(8, kernel_size=[1, 3], padding=[0, 1]),
        }
    ),
    "projection and expansion": images(
        {
            "wide": conv(16, bias=False),
            "norm1": "nn.BatchNorm2d",
            "relu": "nn.ReLU",
            "project": conv(4, kernel_size=1, padding=0, bias=False),
            "norm2": "nn.BatchNorm2d",
            "expand": conv(24, kernel_size=1, padding=0),
        }
    ),
    "low rank": digits({"flatten": "nn.Flatten", "narrow": linear(4), "scores": SCORES}),
    "subpixel convolution": images(
        {"conv": conv(16), "shuffle": Node("nn.PixelShuffle", {"upscale_factor": 2}), "smooth": conv(4)}
    ),
    "new head of a frozen layer": changed(
        digits({"flatten": "nn.Flatten", "features": linear(32), "scores": SCORES}), "features", frozen=True
    ),
    "layer norm between": digits(
        {"flatten": "nn.Flatten", "hidden": linear(32), "norm": "nn.LayerNorm", "scores": SCORES}
    ),
    "in place after a convolution and a norm": images(
        {
            "conv": conv(8, bias=False),
            "norm": "nn.BatchNorm2d",
            "relu": Node("nn.ReLU", {"inplace": True}),
            "drop": Node("nn.Dropout2d", {"p": 0.1, "inplace": True}),
        }
    ),
    "in place after a sum": digits(
        {"conv1": conv(8), "relu1": "nn.ReLU", "conv2": conv(8)},
        wires=[
            "conv2.output -> sum.x",
            "relu1.output -> sum.y",
            "sum.output -> relu2.input",
            "relu2.output -> flat.input",
            "flat.output -> scores.input",
        ],
        sum=Node("ops.add"),
        relu2=Node("nn.ReLU", {"inplace": True}),
        flat="nn.Flatten",
        scores=SCORES,
        last="scores",
    ),
    "bias before layer norm": digits(
        {"flatten": "nn.Flatten", "hidden": linear(32), "norm": "nn.LayerNorm", "relu": "nn.ReLU", "scores": SCORES}
    ),
    "last batch of one image": images(
        {"conv": conv(8, bias=False), "norm": "nn.BatchNorm2d"}, batches=Node("data.Batches", {"batch_size": 479})
    ),
    "last batch left out": digits(
        {
            "flatten": "nn.Flatten",
            "hidden": linear(32, bias=False),
            "norm": "nn.BatchNorm1d",
            "relu": "nn.ReLU",
            "scores": SCORES,
        },
        batches=Node("data.Batches", {"batch_size": 479, "drop_last": True}),
    ),
    "dropout between recurrent layers": digits(
        {
            "rows": Node("nn.Flatten", {"end_dim": 2}),
            "lstm": Node("nn.LSTM", {"hidden_size": 8, "num_layers": 2, "dropout": 0.5}),
            "last": "nn.LastStep",
            "scores": SCORES,
        }
    ),
}


@pytest.mark.parametrize("document", SOUND.values(), ids=SOUND)
def test_sound_projects_have_no_problem(document: Document) -> None:
    assert codes(document) == []
