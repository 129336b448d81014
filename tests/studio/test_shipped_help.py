"""Every shipped block and template has help with a picture and an example."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from studio.document.blocks.block_library import LibraryBlock, shipped_blocks
from studio.document.files.project_templates import Template, templates
from studio.lowering.analysis.block_types import BlockTypes
from studio.nodes import catalogue
from studio.reference import block_pages, template_pages

SOURCE = re.compile(r"\b(19|20)\d\d\.")
"""The year at the end of a reference to a publication."""

every_block = pytest.mark.parametrize("entry", shipped_blocks(), ids=lambda entry: entry.name)
every_template = pytest.mark.parametrize("template", templates(), ids=lambda template: template.key)


def sections(text: str) -> dict[str, str]:
    """The sections of a page by their anchors."""
    return {part.partition("{ #")[2].partition(" }")[0]: part for part in text.split("\n## ")[1:]}


@pytest.fixture(scope="module")
def blocks() -> dict[str, str]:
    [(_, text)] = block_pages.pages()
    return sections(text)


@pytest.fixture(scope="module")
def projects() -> dict[str, str]:
    [(_, text)] = template_pages.pages()
    return sections(text)


@every_block
def test_a_block_has_help(entry: LibraryBlock, blocks: Mapping[str, str]) -> None:
    text = blocks[entry.name]
    kind = BlockTypes(entry.definitions, catalogue()).type_of(
        next(node for node in entry.document.nodes.values() if node.type == f"block.{entry.name}")
    )
    assert kind is not None
    purpose, example = text.split("**Example**")
    assert SOURCE.search(purpose), "no publication is named"
    for port in (*kind.inputs, *kind.outputs):
        assert "N×" in port.help or "shape" in port.help or "Output" in port.help, port.name
        assert f"| `{port.name}` |" in purpose
        assert re.search(rf"\| `{port.name}` \| (in|out)put \| `N×", example), port.name
    for name, targets in entry.block.params.items():
        assert all(f"`{each.node}.{each.param}`" in purpose for each in targets), name
    assert re.search(r"[\d,]+ parameters and [\d,]+ multiply-adds", example)
    assert "(nn.Module):" in example.partition("```python")[2]
    assert text.count("<svg ") == 1


@every_template
def test_a_template_has_help(template: Template, projects: Mapping[str, str]) -> None:
    text = projects[template.key]
    assert text.startswith(template.title)
    for part in ("Data", "Loss", "Optimizer", "Parameters", "Epochs"):
        assert re.search(rf"\| {part} \| \S", text), part
    assert f"gradwire new {template.key} -o" in text
    assert text.count("<rect ") == len(template.document.nodes)
    assert text.count("<path ") == len(template.document.wires)


@pytest.mark.parametrize("text", [block_pages, template_pages], ids=lambda module: module.PATH)
def test_wires_of_pictures_stay_inside(text: object) -> None:
    [(_, page)] = text.pages()  # type: ignore[attr-defined]
    for width, height, drawing in re.findall(r'<svg viewBox="0 0 (\S+) (\S+)" (.*?)</svg>', page, re.DOTALL):
        for path in re.findall(r'<path d="([^"]+)"', drawing):
            numbers = [float(number) for number in re.findall(r"-?[\d.]+", path)]
            assert min(numbers[::2]) >= 0 and max(numbers[::2]) <= float(width)
            assert min(numbers[1::2]) >= 0 and max(numbers[1::2]) <= float(height)
