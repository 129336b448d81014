"""Initial weights: parameters of nodes, calls of `nn.init` in programs, and the way back."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

import engine
from engine import fit, nn
from studio.document import edits
from studio.document.blocks.block_edits import promote
from studio.document.blocks.block_grouping import group
from studio.document.files.project_format import dumps, loads
from studio.document.model import Document, Endpoint, Node, ParamRef, Wire
from studio.document.weight_sharing import share
from studio.lowering import check, lower
from studio.lowering.codegen.program_verification import verify_source
from studio.lowering.codegen.safe_identifiers import UnsafeSyntaxError
from studio.lowering.source_import.edits.source_edits import apply_source
from studio.lowering.source_import.module_import import import_module
from studio.lowering.source_import.reading.source_errors import SourceError
from studio.nodes import catalogue
from studio.nodes.initialization import COMPANIONS, TYPES, initial_values
from tests.studio.lowering.graphs import digits
from tests.studio.mistakes.healthy_graphs import healthy_graph

LOGITS = Node("nn.Linear", {"out_features": 10})
SYMBOLS = Node("transforms.Normalize", muted=True)
"""Keeps the values of the digits, which an embedding takes."""


def net(**params: Any) -> Document:
    """A convolution and a hidden layer with parameters."""
    return digits(
        {
            "conv": Node("nn.Conv2d", {"out_channels": 4, "kernel_size": 3}),
            "relu": "nn.ReLU",
            "flatten": "nn.Flatten",
            "fc": Node("nn.Linear", {"out_features": 16, **params}),
            "tanh": "nn.Tanh",
            "logits": LOGITS,
        }
    )


def program(document: Document) -> Any:
    report = check(document, catalogue())
    assert not report.errors, report.errors
    return lower(report, "net")


def inits(document: Document) -> list[str]:
    return [line.strip() for line in program(document).source.split("\n") if "nn.init" in line]


def weights(document: Document, *, compile: bool = False, steps: int = 0, seed: int = 3) -> dict[str, Any]:
    task = program(document).build(seed=seed)
    task.setup()
    if steps:
        [*_] = fit.fit(task, steps=steps, compile=compile)
    return {name: value.detach().numpy().copy() for name, value in task.model.state_dict().items()}


def edited(document: Document, *replacements: tuple[str, str]) -> Document:
    before = program(document)
    text = before.source
    for old, new in replacements:
        assert old in text, text
        text = text.replace(old, new)
    return apply_source(document, before, text, catalogue())


CALLS = {
    "kaiming_normal": "nn.init.kaiming_normal_(self.fc.weight, nonlinearity='relu')",
    "kaiming_uniform": "nn.init.kaiming_uniform_(self.fc.weight, nonlinearity='relu')",
    "xavier_normal": "nn.init.xavier_normal_(self.fc.weight)",
    "xavier_uniform": "nn.init.xavier_uniform_(self.fc.weight)",
    "orthogonal": "nn.init.orthogonal_(self.fc.weight)",
    "normal": "nn.init.normal_(self.fc.weight, std=0.02)",
    "trunc_normal": "nn.init.trunc_normal_(self.fc.weight, std=0.02)",
    "zeros": "nn.init.zeros_(self.fc.weight)",
}


@pytest.mark.parametrize("choice", COMPANIONS)
def test_each_choice_is_a_call_as_in_pytorch_and_comes_back(choice: str) -> None:
    document = net(weight_init=choice, bias_init=0)
    calls = [CALLS[choice]] if choice in CALLS else []
    assert inits(document) == [*calls, "nn.init.zeros_(self.fc.bias)"]
    if not calls:
        return
    plain = net()
    line = "self.fc = nn.Linear(in_features=144, out_features=16)"
    indent = "\n        "
    added = edited(plain, (line, indent.join([line, *inits(document)])))
    assert added.nodes["fc"].params == {"out_features": 16, "weight_init": choice, "bias_init": 0}
    assert edited(document, *((f"{indent}{each}", "") for each in inits(document))) == plain


def test_companions_are_written_and_read() -> None:
    document = net(weight_init="kaiming_uniform", init_mode="fan_out", init_nonlinearity="tanh", bias_init=-0.5)
    assert inits(document) == [
        "nn.init.kaiming_uniform_(self.fc.weight, mode='fan_out', nonlinearity='tanh')",
        "nn.init.constant_(self.fc.bias, -0.5)",
    ]
    changed = edited(document, ("mode='fan_out', nonlinearity='tanh'", "nonlinearity='selu'"), ("-0.5", "1.0"))
    assert changed.nodes["fc"].params == {
        "out_features": 16,
        "weight_init": "kaiming_uniform",
        "init_nonlinearity": "selu",
        "bias_init": 1.0,
    }
    assert edited(document) == document
    plain = edited(
        document, ("nn.init.kaiming_uniform_(self.fc.weight, mode='fan_out', nonlinearity='tanh')", CALLS["normal"])
    )
    assert plain.nodes["fc"].params["weight_init"] == "normal" and "init_mode" not in plain.nodes["fc"].params


def test_the_defaults_of_the_functions_are_those_of_pytorch() -> None:
    document = net(weight_init="normal", init_std=0.1)
    read = edited(document, ("normal_(self.fc.weight, std=0.1)", "normal_(self.fc.weight)"))
    assert read.nodes["fc"].params["init_std"] == 1.0
    read = edited(document, ("normal_(self.fc.weight, std=0.1)", "kaiming_normal_(self.fc.weight, 0, 'fan_out')"))
    assert read.nodes["fc"].params == {
        "out_features": 16,
        "weight_init": "kaiming_normal",
        "init_mode": "fan_out",
        "init_nonlinearity": "leaky_relu",
    }


def test_weights_are_those_of_the_functions_and_of_the_seed() -> None:
    document = net(weight_init="normal", init_std=0.5, bias_init=2)
    found = weights(document)
    assert found["fc.weight"].std() == pytest.approx(0.5, rel=0.05)
    assert set(found["fc.bias"].tolist()) == {2.0}
    again, other = weights(document), weights(document, seed=4)
    assert all(np.array_equal(found[name], again[name]) for name in found)
    assert not np.array_equal(found["fc.weight"], other["fc.weight"])
    default = weights(net())
    assert np.array_equal(found["conv.weight"], default["conv.weight"]), "layers before it keep their numbers"


def test_compiled_steps_match_eager_steps() -> None:
    document = net(weight_init="orthogonal", init_gain=1.5, bias_init=0.1)
    eager, compiled = weights(document, steps=3), weights(document, steps=3, compile=True)
    for name, value in eager.items():
        np.testing.assert_allclose(compiled[name], value, rtol=1e-4, atol=1e-6, err_msg=name)


def test_the_default_changes_nothing() -> None:
    assert inits(net()) == inits(net(weight_init="default")) == []
    assert program(net()).source == program(net(weight_init="default", init_std=0.5)).source
    document = net(weight_init="trunc_normal", init_std=0.1)
    assert loads(dumps(document)) == document and '"weight_init": "trunc_normal"' in dumps(document)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"weight_init": "he"}, "weight_init must be one of 'default', "),
        ({"init_std": -1.0}, "init_std must be ≥ 0"),
        ({"init_gain": 0.0}, "init_gain must be > 0"),
        ({"bias_init": "zeros"}, "bias_init must be a number"),
    ],
)
def test_wrong_values_are_reported(params: dict[str, Any], message: str) -> None:
    [problem] = check(net(**params), catalogue()).errors
    assert message in problem.message and problem.node == "fc"


@pytest.mark.parametrize("key", sorted(TYPES))
def test_all_parameters_of_each_type_are_set(key: str) -> None:
    """Names of parameters, against an instance of each layer."""
    required: dict[str, dict[str, Any]] = {
        "Linear": {"in_features": 3, "out_features": 4},
        "Bilinear": {"in1_features": 2, "in2_features": 3, "out_features": 4},
        "Embedding": {"num_embeddings": 5, "embedding_dim": 3, "padding_idx": 2},
        "EmbeddingBag": {"num_embeddings": 5, "embedding_dim": 3},
    }
    title = key.removeprefix("nn.")
    params = required.get(title, {"input_size": 3, "hidden_size": 4})
    if title.startswith("Conv"):
        params = {"in_channels": 3, "out_channels": 4, "kernel_size": 3}
    variants = [params]
    if title in ("RNN", "LSTM", "GRU"):
        variants += [{**params, "num_layers": 2, "bidirectional": True}, {**params, "bias": False}]
    if title == "LSTM":
        variants.append({**params, "proj_size": 2})
    node_type = catalogue()[key]
    has_bias = node_type.param("bias_init") is not None
    assert has_bias is ("Embedding" not in title)
    for variant in variants:
        layer = getattr(nn, title)(**variant)
        defaults = {each.name: each.default for each in node_type.params if each.name.startswith(("init", "weight"))}
        arguments = {**defaults, **variant, "weight_init": "normal", "init_std": 100.0, "bias_init": 7.0}
        for values in initial_values(key, arguments):
            values.apply(layer)
        for name, parameter in layer.named_parameters():
            numbers = parameter.detach().numpy()
            is_set = (numbers == 7).all() if "bias" in name else numbers.std() > 20
            assert is_set, name
        if title == "Embedding":
            assert (layer.weight[2] == 0).all() and not (layer.weight[1] == 0).any()


def sequences(**params: Any) -> Document:
    return digits(
        {
            "rows": Node("ops.squeeze", {"dim": 1}),
            "lstm": Node("nn.LSTM", {"hidden_size": 6, **params}),
            "last": Node("ops.select", {"dim": 1, "index": -1}),
            "logits": LOGITS,
        }
    )


def test_all_weights_of_recurrent_layers_are_set_and_read_together() -> None:
    document = sequences(weight_init="orthogonal", bias_init=0, num_layers=2)
    calls = inits(document)
    assert calls[:2] == ["nn.init.orthogonal_(self.lstm.weight_ih_l0)", "nn.init.orthogonal_(self.lstm.weight_hh_l0)"]
    assert len(calls) == 8 and calls[-1] == "nn.init.zeros_(self.lstm.bias_hh_l1)"
    assert edited(document) == document
    found = weights(document)["lstm.weight_hh_l1"]
    np.testing.assert_allclose(found.T @ found, np.eye(6), atol=1e-5)
    with pytest.raises(SourceError, match="The initial weights of lstm are set in a way that no node has"):
        edited(document, (f"        {calls[1]}\n", ""))
    without = edited(document, *((f"        {each}\n", "") for each in calls))
    assert without == sequences(num_layers=2)


def test_rows_for_padding_stay_zero() -> None:
    embedding = Node(
        "nn.Embedding", {"num_embeddings": 17, "embedding_dim": 4, "padding_idx": 0, "weight_init": "normal"}
    )
    layers = {"flatten": "nn.Flatten", "embedding": embedding, "flat": "nn.Flatten", "logits": LOGITS}
    document = digits(layers, scale=SYMBOLS)
    assert inits(document) == [
        "nn.init.normal_(self.embedding.weight, std=0.02)",
        "nn.init.zeros_(self.embedding.weight[0])",
    ]
    found = weights(document)["embedding.weight"]
    assert not found[0].any() and found[1:].all()
    assert edited(document) == document


# -- blocks and shared weights -----------------------------------------------------------------


def blocks(repeat: int = 1) -> tuple[Document, str]:
    """Two instances of a block with a layer whose `weight_init` is promoted."""
    base = digits(
        {"flatten": "nn.Flatten", "fc": Node("nn.Linear", {"out_features": 64}), "relu": "nn.ReLU", "logits": LOGITS}
    )
    base, first = group(base, ["fc", "relu"], "dense")
    base = promote(base, "dense", ParamRef("fc", "weight_init"), "weight_init")
    [wire] = [wire for wire in base.wires if wire.target.node == "logits"]
    base = edits.add(edits.disconnect(base, [wire]), "second", Node("block.dense"))
    for source, target in ((first, "second"), ("second", "logits")):
        base = edits.connect(base, Wire(Endpoint(source, "output"), Endpoint(target, "input")))
    return base, first


def test_the_class_of_a_block_sets_what_is_alike() -> None:
    base, first = blocks()
    both = edits.set_param(edits.set_param(base, first, "weight_init", "zeros"), "second", "weight_init", "zeros")
    assert inits(both) == ["nn.init.zeros_(self.fc.weight)"]
    assert edited(both) == both
    for name in (first, "second"):
        assert not weights(both)[f"{name}.fc.weight"].any()


def test_the_model_sets_what_differs_between_instances() -> None:
    base, first = blocks()
    one = edits.set_param(base, "second", "weight_init", "zeros")
    assert inits(one) == ["nn.init.zeros_(self.second.fc.weight)"]
    found = weights(one)
    assert found[f"{first}.fc.weight"].any() and not found["second.fc.weight"].any()
    assert edited(one) == one
    with pytest.raises(SourceError, match="set in the class of the block, or on the canvas"):
        edited(one, ("nn.init.zeros_(self.second.fc.weight)", "nn.init.orthogonal_(self.second.fc.weight)"))
    copies = edits.set_param(
        edits.set_param(base, "second", "repeat", 2), "second", "weight_init", {"each": ["zeros", "default"]}
    )
    assert inits(copies) == ["nn.init.zeros_(self.second[0].fc.weight)"]
    found = weights(copies)
    assert not found["second.0.fc.weight"].any() and found["second.1.fc.weight"].any()


def test_shared_layers_are_initialized_once() -> None:
    base, first = blocks()
    base = share(edits.set_param(base, first, "weight_init", "orthogonal"), ["second"], first)
    assert inits(base) == ["nn.init.orthogonal_(self.fc.weight)"]
    tied = digits(
        {
            "flatten": "nn.Flatten",
            "embedding": Node("nn.Embedding", {"num_embeddings": 17, "embedding_dim": 6, "weight_init": "normal"}),
            "scores": Node("nn.Linear", {"bias_init": 0.0, "weight_init": "zeros"}, shares="embedding"),
            "flat": "nn.Flatten",
            "logits": LOGITS,
        },
        scale=SYMBOLS,
    )
    assert inits(tied) == ["nn.init.normal_(self.embedding.weight, std=0.02)", "nn.init.zeros_(self.scores.bias)"]
    assert weights(tied)["embedding.weight"].any()


# -- code --------------------------------------------------------------------------------------

MODULE = """
import torch
from torch import nn
from torch.nn import init

STD = 0.05

class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.conv = nn.Conv2d(1, width, 3, bias=False)
        self.fc = nn.Linear(width, 10)
        init.kaiming_normal_(self.conv.weight, mode="fan_out", nonlinearity="relu")
        nn.init.normal_(self.fc.weight, 0, STD)
        nn.init.constant_(self.fc.bias, val=0.1)
        {more}

    def forward(self, x):
        return self.fc(torch.flatten(torch.relu(self.conv(x)), 1))
"""


def test_files_of_pytorch_are_imported_with_their_initial_weights() -> None:
    block = import_module(MODULE.replace("{more}", ""), catalogue()).blocks["Net"]
    assert block.description == ""
    conv = block.nodes["conv"].params
    assert conv["weight_init"] == "kaiming_normal" and conv["init_mode"] == "fan_out"
    found = {name: value for name, value in block.nodes["fc"].params.items() if "init" in name}
    assert found == {"weight_init": "normal", "init_std": 0.05, "bias_init": 0.1}


@pytest.mark.parametrize(
    "statement",
    [
        "nn.init.uniform_(self.fc.weight)",
        "nn.init.kaiming_uniform_(self.fc.weight, a=2)",
        "nn.init.zeros_(self.fc.weight[1])",
        "nn.init.normal_(self.fc.weight, std=width)",
    ],
)
def test_other_initial_weights_are_left_out_and_named(statement: str) -> None:
    block = import_module(MODULE.replace("{more}", statement), catalogue()).blocks["Net"]
    assert "The initial weights that the file sets (line 1" in block.description
    assert "weight_init" not in block.nodes["fc"].params
    assert block.nodes["conv"].params["weight_init"] == "kaiming_normal"


@pytest.mark.parametrize(
    "statement",
    [
        "nn.init.uniform_(self.fc.weight)",
        "nn.init.normal_(self.fc.weight, std=self.width)",
        "nn.init.normal_(self.missing.weight)",
        "nn.init.zeros_(self.fc.weight[0])",
        "self.fc.weight.data.zero_()",
    ],
)
def test_edited_code_is_refused_if_no_node_has_it(statement: str) -> None:
    line = "self.fc = nn.Linear(in_features=144, out_features=16)"
    with pytest.raises(SourceError):
        edited(net(), (line, f"{line}\n        {statement}"))


@pytest.mark.parametrize(
    "statement",
    [
        "nn.init.zeros_(self.fc.weight.data)",
        "nn.init.zeros_(self.fc.__class__)",
        "nn.init.calculate_gain('relu')",
        "nn.init.zeros_(self.other.weight)",
        "nn.init.normal_(self.fc.weight, std=self.fc)",
        "nn.init._fan(self.fc.weight, 'fan_in')",
        "nn.init.zeros_(self.fc.weight[self.fc])",
        "nn.init.normal_.zeros_(self.fc.weight)",
        "x = nn.init.zeros_(self.fc.weight)",
        "nn.init.zeros_(self.fc.weight).apply(1)",
    ],
)
def test_verification_allows_no_other_calls(statement: str) -> None:
    source = program(net(weight_init="zeros")).source
    verify_source(source)
    with pytest.raises(UnsafeSyntaxError):
        verify_source(source.replace("nn.init.zeros_(self.fc.weight)", statement))


def test_layers_have_the_signatures_of_pytorch() -> None:
    with pytest.raises(TypeError):
        engine.nn.Linear(3, 4, weight_init="zeros")  # type: ignore[call-arg]


# -- healthy networks --------------------------------------------------------------------------


def initialized(nodes: dict[str, Node], random: Random) -> dict[str, Node]:
    """The nodes, with a sensible initialization of each layer."""
    found = dict(nodes)
    for name, node in nodes.items():
        if node.type not in TYPES or node.shares:
            continue
        choice = random.choice([each for each in COMPANIONS if each != "zeros"])
        params: dict[str, Any] = {**node.params, "weight_init": choice}
        if choice in ("normal", "trunc_normal"):
            params["init_std"] = random.choice([0.01, 0.02, 0.05, 0.1])
        elif choice.startswith("kaiming"):
            params["init_mode"] = random.choice(["fan_in", "fan_out"])
            params["init_nonlinearity"] = random.choice(["relu", "leaky_relu", "tanh"])
        if "Embedding" not in node.type and node.params.get("bias") is not False and random.random() < 0.5:
            params["bias_init"] = random.choice([0, 0.1, -1.0])
        found[name] = replace(node, params=params)
    return found


@pytest.mark.parametrize("seed", range(25))
def test_healthy_networks_have_no_problem_and_come_back_from_their_code(seed: int) -> None:
    random = Random(seed)
    _, document = healthy_graph(seed)
    blocks = {name: replace(each, nodes=initialized(each.nodes, random)) for name, each in document.blocks.items()}
    document = replace(document, nodes=initialized(document.nodes, random), blocks=blocks)
    assert check(document, catalogue()).problems == ()
    assert edited(document) == document
