"""Each block in `assets/blocks`: documented, without problems, equal to its nodes bit for bit, and trainable."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest

import engine
from engine import fit
from engine.system.assets import asset
from studio.document.blocks import block_nodes
from studio.document.blocks.block_digest import block_digest
from studio.document.blocks.block_grouping import unpack
from studio.document.blocks.block_library import LibraryBlock, shipped_blocks
from studio.document.files.project_format import dumps
from studio.document.model import Document, Node
from studio.lowering import check, lower
from studio.lowering.analysis.block_types import BlockTypes
from studio.nodes import catalogue
from studio.nodes.types import NodeType

STEPS = 12

every_block = pytest.mark.parametrize("entry", shipped_blocks(), ids=lambda entry: entry.name)


def type_of(entry: LibraryBlock) -> NodeType:
    found = BlockTypes(entry.definitions, catalogue()).type_of(Node(block_nodes.type_of(entry.name)))
    assert found is not None
    return found


def unpacked(document: Document) -> Document:
    """The document without instances."""
    while instance := next((name for name, node in document.nodes.items() if block_nodes.name_of(node)), None):
        document = unpack(document, instance)[0]
    return document


@every_block
def test_a_block_is_documented(entry: LibraryBlock) -> None:
    kind = type_of(entry)
    assert entry.block.description.partition("\n")[0].endswith(".")
    assert kind.inputs
    assert kind.outputs
    assert {port.name: port.help for port in (*kind.inputs, *kind.outputs) if not port.help} == {}
    assert {each.name for each in kind.params if not each.help} == set()
    assert {each.name for each in kind.params} == {*entry.block.params, block_nodes.REPEAT}


@every_block
def test_a_file_has_the_studio_format_and_defines_what_its_block_uses(entry: LibraryBlock) -> None:
    assert set(entry.definitions) <= set(entry.document.blocks)
    assert entry.block.origin is None
    assert entry.name in block_nodes.used_blocks(entry.document.nodes)
    for graph in (entry.document, *entry.document.blocks.values()):
        positions = [node.at for node in graph.nodes.values()]
        assert all(x % 8 == 0 and y % 8 == 0 for x, y in positions)
        for (x1, y1), (x2, y2) in combinations(positions, 2):
            assert abs(x1 - x2) >= 136 or abs(y1 - y2) >= 64


@every_block
def test_blocks_of_the_same_name_are_equal_in_all_files(entry: LibraryBlock) -> None:
    for other in shipped_blocks():
        if other.name in entry.document.blocks:
            assert block_digest(entry.document.blocks, other.name) == other.digest


@every_block
def test_the_example_has_no_problems(entry: LibraryBlock) -> None:
    assert check(entry.document, catalogue()).problems == ()


@every_block
def test_an_instance_equals_its_nodes_bit_for_bit(entry: LibraryBlock) -> None:
    expected, found = step_of(unpacked(entry.document)), step_of(entry.document)
    assert len(expected) == len(found) > 1
    assert all(np.any(gradient) for gradient in found[1:]), "a parameter has no gradient"
    for left, right in zip(expected, found, strict=True):
        assert np.array_equal(left, right, equal_nan=True)


def step_of(document: Document) -> list[np.ndarray]:
    """The losses and the gradients of a step, in the order of the parameters, whose values depend on it alone."""
    task = lower(check(document, catalogue())).build(seed=1)
    task.setup()
    for index, parameter in enumerate(task.model.parameters()):
        scale = 0.5 / max(parameter.shape[-1] if parameter.ndim else 1, 1) ** 0.5
        values = np.random.default_rng(index).normal(scale=scale, size=parameter.shape)
        with engine.no_grad():
            parameter.copy_(engine.tensor(values.astype(np.float32)))
    assert task.batches is not None
    losses = list(task.losses(next(iter(task.batches.train))).values())
    for loss in losses:
        loss.backward()
    gradients = [parameter.grad for parameter in task.model.parameters()]
    return [np.asarray(each.detach().numpy()) for each in (*losses, *gradients) if each is not None]


@every_block
def test_the_example_trains(entry: LibraryBlock) -> None:
    task = lower(check(entry.document, catalogue())).build(seed=0)
    losses = [event.loss for event in fit.fit(task, steps=STEPS, compile=False) if isinstance(event, fit.Step)]
    assert len(losses) == STEPS
    assert np.isfinite(losses).all()
    third = STEPS // 3
    assert np.mean(losses[-third:]) < np.mean(losses[:third])


@every_block
def test_the_file_is_written_as_the_studio_would(entry: LibraryBlock) -> None:
    assert asset(f"blocks/{entry.name}.gradwire").read_text(encoding="utf-8") == dumps(entry.document)


def test_names_are_sorted_and_unique() -> None:
    names = [entry.name for entry in shipped_blocks()]
    assert all(first < second for first, second in pairwise(names))


def test_unpacking_removes_all_instances() -> None:
    [entry] = [each for each in shipped_blocks() if each.name == "conv_bn_relu"]
    document = unpacked(entry.document)
    assert document.blocks == {}
    assert "conv" in document.nodes
