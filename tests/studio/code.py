"""Projects with Python nodes, and trust that lasts for one test."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from studio.document.code_trust import TRUST
from studio.document.model import Document, Node
from studio.nodes.python_node import PYTHON
from tests.studio.lowering.graphs import document

GATE = '''\
class Gate(nn.Module):
    """Gated linear unit."""

    def __init__(self, in_features: int, width: int = 16):
        super().__init__()
        self.value = nn.Linear(in_features, width)
        self.gate = nn.Linear(in_features, width)

    def forward(self, x):
        return self.value(x) * self.gate(x).sigmoid()  # the gate is between 0 and 1
'''

SCALE = """\
def scale(x, factor: float = 2.0):
    return factor * x
"""

SENTINEL = """\
from pathlib import Path
Path({path!r}).write_text("executed")


class Effect(nn.Module):
    Path({path!r}).write_text("executed")

    def __init__(self, width: int = 4, other: "Path({path!r}).write_text('executed')" = 3):
        super().__init__()

    @(lambda function: Path({path!r}).write_text("executed") and function)
    def forward(self, x) -> Path({path!r}).write_text("executed"):
        Path({path!r}).write_text("executed")
        return x
"""
"""Source that writes a file if any part of it is executed."""


def code(source: str, **params: Any) -> Node:
    return Node(PYTHON, {"source": source, **params})


def with_code(layers: dict[str, Node | str], ports: Iterable[tuple[str, str]] = ()) -> Document:
    """The digits, flat, a chain of layers, scores, a loss and Adam.

    Args:
        ports: names of the input and the output of layers where these are not `input` and `output`
    """
    named = dict(ports)
    nodes: dict[str, Node | str] = {
        "digits": "data.Digits",
        "normalize": Node("transforms.Normalize", {"std": 16.0}),
        "batches": Node("data.Batches", {"batch_size": 32}),
        "flatten": "nn.Flatten",
        **layers,
        "scores": Node("nn.Linear", {"out_features": 10}),
        "entropy": "nn.CrossEntropyLoss",
        "adam": Node("optim.Adam", {"lr": 0.01}),
    }
    wires = ["digits.samples -> normalize.samples", "normalize.samples -> batches.samples"]
    before = "batches.input"
    for name in ("flatten", *layers, "scores", "entropy"):
        node = nodes[name]
        key = node if isinstance(node, str) else node.type
        port = named.get(name, "x" if key == PYTHON else "input")
        wires.append(f"{before} -> {name}.{port}")
        before = f"{name}.output"
    wires += ["batches.target -> entropy.target", "entropy.loss -> adam.loss"]
    return document(nodes, wires)


@contextmanager
def trusting(*sources: str) -> Iterator[None]:
    """Let this process execute sources."""
    TRUST.allow(sources)
    try:
        yield
    finally:
        TRUST.disallow(sources)


@pytest.fixture
def no_trust(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No trusted code, here or in this process. Returns the folder of the empty store."""
    monkeypatch.setattr(TRUST, "_allowed", set())  # other tests may have left some
    monkeypatch.setenv("GRADWIRE_STATE", str(tmp_path / "state"))
    return tmp_path / "state"
