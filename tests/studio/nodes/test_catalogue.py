from __future__ import annotations

import pytest

from engine import nn
from engine.errors import RegistryError
from engine.system.assets import asset
from studio.document import node_names
from studio.lowering.checks.structure_checks import RESERVED
from studio.nodes import CATEGORIES, Catalogue, NodeType, Port, PortType, Role, catalogue, placeholder
from studio.nodes.catalogue import NAMESPACES

TYPES = list(catalogue())


def made(key: str, *, title: str = "", was: tuple[str, ...] = (), tags: tuple[str, ...] = ()) -> NodeType:
    ports = (Port("input", PortType.TENSOR),)
    return NodeType(key, title or key, "layer", "Group", "summary", "help", "layer", ports, (), (), tags, was)


@pytest.mark.parametrize("node_type", TYPES, ids=lambda node_type: node_type.key)
def test_node_types_are_complete(node_type: NodeType) -> None:
    assert node_type.category in CATEGORIES
    assert node_type.title
    assert node_type.summary.endswith(".")
    assert "Args:" not in node_type.help
    assert node_type.role is not Role.UNKNOWN
    assert asset(f"icons/{node_type.icon}.svg").is_file()
    assert [param.name for param in node_type.params if not param.help] == []
    ports = [port.name for port in (*node_type.inputs, *node_type.outputs)]
    assert ports
    assert all(name.isidentifier() for name in ports)


@pytest.mark.parametrize("node_type", TYPES, ids=lambda node_type: node_type.key)
def test_key_is_the_path_of_the_target(node_type: NodeType) -> None:
    prefix, _, name = node_type.key.partition(".")
    if prefix == "studio":
        assert node_type.target is None
    else:
        assert getattr(NAMESPACES[prefix], name) is node_type.target


@pytest.mark.parametrize("node_type", TYPES, ids=lambda node_type: node_type.key)
def test_default_names_are_valid(node_type: NodeType) -> None:
    name = node_names.to_identifier(node_type.key)
    assert node_names.problem(name) is None
    assert name not in RESERVED.get(node_type.role, ())


def test_ports_come_from_signatures() -> None:
    assert [port.name for port in catalogue()["nn.CrossEntropyLoss"].inputs] == ["input", "target"]
    assert catalogue()["nn.Linear"].outputs == (Port("output", PortType.TENSOR),)
    assert catalogue()["metrics.Accuracy"].outputs == ()
    assert [port.type for port in catalogue()["data.Batches"].outputs] == [PortType.TENSOR, PortType.TENSOR]
    assert [port.optional for port in catalogue()["ops.cat"].inputs] == [False, False]


def test_categories() -> None:
    categories = {
        key: catalogue()[key].category for key in ("data.Digits", "nn.ReLU", "nn.Linear", "ops.add", "optim.SGD")
    }
    assert categories == {
        "data.Digits": "data",
        "nn.ReLU": "activation",
        "nn.Linear": "layer",
        "ops.add": "operation",
        "optim.SGD": "optimizer",
    }


def test_catalogue_is_cached() -> None:
    assert catalogue() is catalogue()


def test_old_keys_find_the_new_type() -> None:
    types = Catalogue([made("nn.Linear", was=("nn.Dense", "layers.Dense"))])
    assert types["nn.Dense"] is types["nn.Linear"] is types.get("layers.Dense")
    assert "nn.Dense" in types
    assert len(types) == 1
    assert types.get("nn.Other") is None
    with pytest.raises(KeyError, match=r"nn\.Other"):
        types["nn.Other"]


@pytest.mark.parametrize("second", [made("a"), made("b", was=("a",)), made("old"), made("c", was=("old",))])
def test_duplicate_keys_raise(second: NodeType) -> None:
    with pytest.raises(RegistryError, match="declared twice"):
        Catalogue([made("a", was=("old",)), second])


def test_fitting() -> None:
    takes_loss = [node_type.key for node_type in catalogue().fitting(PortType.LOSS, "input")]
    assert "optim.Adam" in takes_loss
    assert "nn.Linear" not in takes_loss
    gives_samples = {node_type.key for node_type in catalogue().fitting(PortType.SAMPLES, "output")}
    assert {"data.Digits", "transforms.Normalize"} <= gives_samples
    assert "data.Batches" not in gives_samples


def test_placeholder_ports() -> None:
    stand_in = placeholder("gone.Layer", {"x": PortType.TENSOR}, {"loss": PortType.LOSS})
    assert (stand_in.category, stand_in.title, stand_in.role) == ("unknown", "Layer", Role.UNKNOWN)
    assert stand_in.input("x") == Port("x", PortType.TENSOR)
    assert stand_in.output("loss") == Port("loss", PortType.LOSS)
    assert asset(f"icons/{stand_in.icon}.svg").is_file()


WITHOUT_NODES = {
    "AdaptiveLogSoftmaxWithLoss": "it has parameters, which belong to the model and not to a loss",
    "LinearCrossEntropyLoss": "it has parameters; a Linear layer and CrossEntropyLoss compute the same",
}


def test_every_loss_of_the_engine_is_a_node() -> None:
    losses = {name for name in nn.__all__ if name.endswith("Loss")}
    losses = {name for name in losses if getattr(nn, name).__name__ == name}  # without deprecated names
    found = {each.key.removeprefix("nn.") for each in catalogue() if each.category == "loss"}
    assert losses - found == WITHOUT_NODES.keys()


def test_class_weights_are_lists() -> None:
    for key in ("nn.CrossEntropyLoss", "nn.NLLLoss", "nn.MultiMarginLoss", "nn.BCEWithLogitsLoss"):
        weight = catalogue()[key].param("weight")
        assert weight is not None and (weight.kind, weight.default, weight.optional) == ("floats", None, True)
        assert weight.problem([1.0, 2.0]) is None and weight.problem(2.0) is not None
