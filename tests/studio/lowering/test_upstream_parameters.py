"""Shape errors are reported at the first node whose parameter explains them, with a fix that solves them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from studio.document import edits
from studio.document.blocks import block_nodes
from studio.document.blocks.block_edits import promote
from studio.document.blocks.block_grouping import group
from studio.document.model import Document, Json, Node, ParamRef
from studio.lowering.problems.problem import Problem
from tests.studio.lowering.graphs import changed, digits, document, fixed, report, wire
from tests.studio.lowering.test_causes import rewired

LOGITS = Node("nn.Linear", {"out_features": 10})
TOKENS = Node("nn.Flatten", {"start_dim": 2})
TRANSPOSE = Node("ops.transpose", {"dim0": 1, "dim1": 2})
MEAN = Node("ops.mean", {"dim": [1]})


def only(document: Document) -> Problem:
    """The one error that a document has."""
    [problem] = report(document).errors
    return problem


def conv(channels: int = 4, kernel: int = 3, **params: Json) -> Node:
    return Node("nn.Conv2d", {"out_channels": channels, "kernel_size": kernel, **params})


def linear(**params: Json) -> Node:
    return Node("nn.Linear", {**params})


def pool() -> Node:
    return Node("nn.MaxPool2d", {"kernel_size": 2})


def network(layers: dict[str, str | Node], *wires: str, **more: str | Node) -> Document:
    """A chain of layers after the digits, with the first input and output of each, and other wires at some inputs."""
    chain = digits(layers if "logits" in layers else {**layers, "logits": LOGITS})
    chain = replace(chain, nodes={**chain.nodes, **document(more).nodes})
    ported = [
        str(each).replace(f"{name}.input", f"{name}.{port}")
        for each in chain.wires
        for name, port in [(each.target.node, _first_input(chain, each.target.node))]
    ]
    return rewired(document(dict(chain.nodes), ported), *wires)


def _first_input(chain: Document, name: str) -> str:
    kind = chain.nodes[name].type
    return "x" if kind.startswith("ops.") else "src" if kind == "nn.TransformerEncoderLayer" else "input"


def branch(**layers: str | Node) -> Document:
    """Layers beside a shortcut from the stem, added."""
    last = list(layers)[-1]
    return network(
        {"stem": conv(padding=1), **layers, "flatten": "nn.Flatten"},
        f"{last}.output -> add.x",
        "stem.output -> add.y",
        "add.output -> flatten.input",
        add="ops.add",
    )


def joined(dim: int, **other: Node | str) -> Document:
    after = ["cat.output -> conv.input"] if "conv" in other else ["cat.output -> flatten.input"]
    return network(
        {"stem": conv(padding=1), "b": conv(4 if other else 8, 1), **other, "flatten": "nn.Flatten"},
        "stem.output -> a.input",
        "a.output -> cat.a",
        "b.output -> cat.b",
        *after,
        a=conv(4, 1),
        cat=Node("ops.cat", {"dim": dim}),
    )


def residual_block(repeat: int) -> Document:
    made = network(
        {"flatten": "nn.Flatten", "norm": "nn.LayerNorm", "wide": linear(out_features=32)},
        "wide.output -> add.x",
        "flatten.output -> add.y",
        "add.output -> logits.input",
        add="ops.add",
    )
    made = group(made, ["norm", "wide", "add"], "mix")[0]
    return edits.set_param(made, "mix", block_nodes.REPEAT, repeat)


def patches(size: int) -> Document:
    """Patches of images of 8 × 8 with a learned tensor for the positions of 16 patches."""
    return network(
        {
            "patch": conv(16, size, stride=size),
            "flat": TOKENS,
            "tokens": TRANSPOSE,
            "add": "ops.add",
            "flatten": "nn.Flatten",
        },
        "table.output -> add.y",
        table=Node("nn.LearnedTensor", {"size": [16, 16]}),
    )


def strided_block() -> Document:
    made = branch(conv1=conv(padding=1, stride=2), bn="nn.BatchNorm2d", conv2=conv(padding=1))
    return group(made, ["conv1", "bn", "conv2", "add"], "res")[0]


MISTAKES: dict[str, tuple[Callable[[], Document], str, str]] = {
    "an explicit size two layers up": (
        lambda: network({"flatten": "nn.Flatten", "a": linear(in_features=60, out_features=32), "relu": "nn.ReLU"}),
        "a",
        "Infer in_features from the wire",
    ),
    "stride in a residual branch": (
        lambda: branch(conv1=conv(padding=1, stride=2), bn="nn.BatchNorm2d", relu="nn.ReLU", conv2=conv(padding=1)),
        "conv1",
        "Set stride to 1",
    ),
    "padding in a residual branch": (
        lambda: branch(conv1=conv(kernel=5, padding=1), relu="nn.ReLU"),
        "conv1",
        "Set padding to 2",
    ),
    "no padding in two layers of a branch": (
        lambda: branch(conv1=conv(), relu="nn.ReLU", conv2=conv()),
        "conv1",
        "Set padding of conv1 to 1 and set padding of conv2 to 1",
    ),
    "channels of a branch": (
        lambda: branch(conv1=conv(8, padding=1), conv2=conv(6, padding=1)),
        "conv2",
        "Set out_channels to 4",
    ),
    "forgotten flatten": (
        lambda: network({"conv": conv(), "relu": "nn.ReLU"}),
        "logits",
        "Insert Flatten before logits",
    ),
    "patch size": (lambda: patches(4), "patch", "Set kernel_size to 2 and set stride to 2"),
    "transposed axes": (
        lambda: network(
            {"conv": conv(16), "flat": TOKENS, "proj": linear(in_features=16, out_features=32), "mean": MEAN}
        ),
        "proj",
        "Insert Transpose before proj",
    ),
    "dimensions moved for nothing": (
        lambda: network(
            {
                "conv": conv(8),
                "permute": Node("ops.permute", {"dims": [0, 2, 3, 1]}),
                "norm": Node("nn.BatchNorm2d", {"num_features": 8}),
                "flatten": "nn.Flatten",
            }
        ),
        "permute",
        "Remove permute",
    ),
    "number of heads": (
        lambda: network(
            {
                "conv": conv(30),
                "flat": TOKENS,
                "tokens": TRANSPOSE,
                "encoder": Node("nn.TransformerEncoderLayer", {"nhead": 4}),
                "mean": MEAN,
            }
        ),
        "encoder",
        "Set nhead to 3",
    ),
    "kernel larger than the input after several pools": (
        lambda: network(
            {
                "conv1": conv(padding=1),
                "pool1": pool(),
                "pool2": pool(),
                "pool3": pool(),
                "conv2": conv(),
                "flatten": "nn.Flatten",
            }
        ),
        "conv2",
        "Set padding to 1",
    ),
    "concatenation along the wrong axis": (lambda: joined(2), "cat", "Set dim to 1"),
    "the same, found by a later layer": (
        lambda: joined(2, conv=Node("nn.Conv2d", {"in_channels": 8, "out_channels": 4, "kernel_size": 3})),
        "cat",
        "Set dim to 1",
    ),
    "fewer outputs than classes": (
        lambda: network({"flatten": "nn.Flatten", "logits": linear(out_features=7)}),
        "logits",
        "Set out_features to 10",
    ),
    "odd size upsampled": (
        lambda: network(
            {
                "crop": conv(kernel=2),
                "pool": pool(),
                "conv": conv(padding=1),
                "up": Node("nn.Upsample", {"scale_factor": 2.0}),
                "flatten": "nn.Flatten",
            },
            "up.output -> cat.a",
            "crop.output -> cat.b",
            "cat.output -> flatten.input",
            cat=Node("ops.cat", {"dim": 1}),
        ),
        "up",
        "Set size to 7, 7 and clear scale_factor",
    ),
    "shape of a reshape": (
        lambda: network({"conv": conv(8), "rows": Node("ops.reshape", {"shape": ["N", 256]})}),
        "rows",
        "Set shape to N, -1",
    ),
    "inside a block": (strided_block, "res.conv1", "Set stride to 1"),
    "promoted parameter": (
        lambda: promote(strided_block(), "res", ParamRef("conv1", "stride"), "stride"),
        "res",
        "Set stride to 1",
    ),
    "in a repeated block": (lambda: residual_block(3), "mix.0.wide", "Set out_features to 64"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_cause_is_the_node_whose_parameter_explains_the_error(mistake: str) -> None:
    make, node, title = MISTAKES[mistake]
    made = make()
    problem = only(made)
    assert (problem.node, problem.fix and problem.fix.title) == (node, title), problem.message
    assert report(fixed(made, problem)).errors == ()


def test_the_message_names_value_and_shapes() -> None:
    make, _, _ = MISTAKES["stride in a residual branch"]
    assert only(make()).message == (
        "add cannot combine N×4×4×4 at add.x with N×4×8×8 at add.y, because stride of conv1 is 2. "
        "Set stride of conv1 to 1."
    )
    make, _, _ = MISTAKES["promoted parameter"]
    assert only(make()).message.endswith("Set stride of res.conv1 to 1. stride of res.conv1 is stride of res.")
    make, _, _ = MISTAKES["kernel larger than the input after several pools"]
    assert "The size changes from 8 (batches) → 4 (pool1) → 2 (pool2) → 1 (pool3)." in only(make()).message


def test_layers_after_a_wrong_explicit_size_show_their_shapes() -> None:
    made = changed(branch(conv1=conv(padding=1)), "conv1", params={**conv(padding=1).params, "in_channels": 7})
    assert only(made).node == "conv1"
    assert report(made).wires[wire("add.output -> flatten.input")] == "N×4×8×8 float32"
    assert report(made).nodes.keys() == made.nodes.keys()


def test_a_branch_without_an_explaining_parameter_names_both_origins() -> None:
    made = replace(branch(pool1=pool()), frames={})
    assert only(made).message.endswith("Make both sizes equal.")
