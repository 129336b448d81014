"""Nodes of functions: complete, and derived from the declarations of the engine."""

from __future__ import annotations

import engine
from engine.ops import COMPOSITES, REGISTRY
from engine.registry import LAYERS, parameters
from studio.nodes import catalogue
from studio.nodes.excluded_operations import EXCLUDED
from studio.nodes.operation_nodes import ICONS
from studio.nodes.operation_table import OPERATIONS

PUBLIC = {name for name, record in (*REGISTRY.items(), *COMPOSITES.items()) if record.public}
EXCLUDED_NAMES = [name for names in EXCLUDED.values() for name in names]


def test_each_public_function_is_a_node_or_a_layer_or_excluded_with_a_reason() -> None:
    nodes = {key.partition(".")[2] for members in OPERATIONS.values() for key in members}
    layers = {each.target.__name__.lower() for each in LAYERS}
    shown = {name for name in PUBLIC if name in nodes or name.replace("_", "") in layers}
    assert PUBLIC - shown - set(EXCLUDED_NAMES) == set()
    assert [name for name in EXCLUDED_NAMES if name in shown or name not in PUBLIC] == []
    assert len(EXCLUDED_NAMES) == len(set(EXCLUDED_NAMES))


def test_every_group_has_an_icon() -> None:
    assert set(ICONS) == set(OPERATIONS)


def test_ports_and_parameters_come_from_the_signature() -> None:
    gather = catalogue()["ops.gather"]
    assert [port.name for port in gather.inputs] == ["x", "index"]
    assert [param.name for param in gather.params] == ["dim"]
    attention = catalogue()["functional.scaled_dot_product_attention"]
    assert [port.name for port in attention.inputs if not port.optional] == ["query", "key", "value"]
    assert [port.name for port in attention.inputs if port.optional] == ["attn_mask"]
    assert [param.name for param in attention.params] == ["is_causal", "scale"]
    assert catalogue()["ops.topk"].outputs[1].name == "indices"


def test_a_number_can_replace_the_second_input() -> None:
    power = catalogue()["ops.pow"]
    number = power.param("exponent")
    assert power.input("exponent") is not None
    assert number is not None
    assert number.optional
    assert power.structural == {"exponent"}


def test_documented_arguments_are_parameters() -> None:
    assert {each.name for each in parameters(engine.movedim)} == {"source", "destination"}
