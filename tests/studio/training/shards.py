"""A network that learns from a stream of tar files."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

from studio.document.model import Document, Node, TrainingSettings
from tests.engine.data.test_web_dataset import samples, shard
from tests.studio.lowering.graphs import wire


def shards(folder: Path, count: int = 6, images: int = 5) -> Path:
    """Tar files of small images of 3 classes."""
    folder.mkdir(exist_ok=True)
    for number in range(count):
        shard(folder / f"{number:02}.tar", samples(images * number % 20, images))
    return folder


def streamed(folder: Path, *, workers: int = 0, training: TrainingSettings | None = None, **options: Any) -> Document:
    """Images of `folder` as a stream, through one layer."""
    source = {"folder": str(folder), "stream": True, "buffer": 7, "validation": 0.2, "classes": 3, **options}
    nodes = {
        "shards": Node("data.WebDataset", source),
        "sized": Node("transforms.Resize", {"size": [4, 4]}),
        "flipped": Node("transforms.RandomHorizontalFlip"),
        "scaled": Node("transforms.ToFloat"),
        "loader": Node("data.Batches", {"batch_size": 4, "workers": workers}),
        "flatten": Node("nn.Flatten"),
        "logits": Node("nn.Linear", {"out_features": 3}),
        "loss": Node("nn.CrossEntropyLoss"),
        "adam": Node("optim.Adam"),
    }
    data = ("shards", "sized", "flipped", "scaled", "loader")
    wires = [f"{a}.samples -> {b}.samples" for a, b in itertools.pairwise(data)]
    wires += ["loader.input -> flatten.input", "flatten.output -> logits.input", "logits.output -> loss.input"]
    wires += ["loader.target -> loss.target", "loss.loss -> adam.loss"]
    return Document(nodes, tuple(sorted(map(wire, wires))), training or TrainingSettings(epochs=2))
