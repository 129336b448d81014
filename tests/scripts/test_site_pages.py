"""Generated pages of the documentation: complete, and their programs and commands work."""

from __future__ import annotations

import shlex
import sys
import xml.etree.ElementTree as ET
from types import ModuleType
from typing import Any

import pytest
import typer

from site_pages import api, commands, pages, problems
from studio.cli import command_line
from studio.cli.lazy_commands import functions
from studio.document.blocks.block_library import shipped_blocks
from studio.lowering.problems.diagnoses import DIAGNOSES
from studio.nodes.catalogue import catalogue
from studio.nodes.types import NodeType, Role
from studio.reference import block_pages, node_pages
from studio.reference.node_examples import WITH_SHAPES, shapes

WITHOUT_PROGRAM = {Role.LOSS_SUM}
KINDS = list(catalogue())


def test_every_page_has_a_title_and_an_example() -> None:
    result = dict(pages())
    assert len(result) > 50
    assert [path for path, text in result.items() if not text.startswith("# ") or "```" not in text] == []


def test_every_node_has_a_section_with_its_parameters() -> None:
    text = "\n".join(text for _, text in node_pages.pages())
    assert [kind.key for kind in KINDS if f"{{ #{kind.key} }}" not in text] == []
    names = {parameter.name for kind in KINDS for parameter in kind.params}
    assert [name for name in names if f"| `{name}` |" not in text] == []


def test_every_shipped_block_has_a_section_with_a_picture() -> None:
    [(_, text)] = block_pages.pages()
    sections = dict(zip([entry.name for entry in shipped_blocks()], text.split("\n## ")[1:], strict=True))
    for entry in shipped_blocks():
        found = sections[entry.name]
        assert found.startswith(f"{entry.name} {{ #{entry.name} }}")
        picture = ET.fromstring(found.partition('auto">')[2].partition("</figure>")[0].strip())
        boxes = [each for each in picture if each.tag == "rect"]
        assert (len(boxes), len(picture.findall("path"))) == (len(entry.block.nodes), len(entry.block.wires))
        assert [name for name in entry.block.params if f"| `{name}` |" not in found] == []


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.key)
def test_the_program_of_a_node_runs(kind: NodeType) -> None:
    program = node_pages.python(kind)
    if kind.role not in WITHOUT_PROGRAM and not any(each.path and each.required for each in kind.params):
        assert program
    exec(compile(program, kind.key, "exec"), {})


def test_shapes_equal_the_inferred_ones() -> None:
    [result] = shapes(catalogue()["nn.Conv2d"])
    assert {port: str(spec) for port, spec in result.outputs.items()} == {"output": "N×32×30×30 float32"}
    assert all(shapes(kind) for kind in KINDS if kind.role in WITH_SHAPES)


@pytest.mark.parametrize("module", api.MODULES)
def test_the_program_of_a_module_runs(module: str) -> None:
    exec(compile(api.MODULES[module][1], module, "exec"), {})


def test_every_command_has_a_valid_example() -> None:
    group: Any = typer.main.get_command(command_line.app)
    assert {name for name, *_ in functions(command_line.COMMANDS)} == set(commands.EXAMPLES)
    for name, example in commands.EXAMPLES.items():
        words = shlex.split(example)[1:]
        command = group
        for part in name.split():
            command = command.commands[part].load()
        command.make_context(name, words[len(name.split()) :])


def test_options_match_the_parser() -> None:
    run = next(function for name, function, _ in functions(command_line.COMMANDS) if name == "run")
    options = {one.names: one for one in commands.arguments(run) if one.is_option}
    assert options["`--quiet`, `-q`"].value == ""
    assert options["`--compile`, `--no-compile`"].value == ""
    assert options["`--epochs`"].value.startswith("`N` ≥ 0")


def test_every_problem_code_is_listed() -> None:
    [(_, text)] = problems.pages()
    assert [one for one in DIAGNOSES if f"`{one}`" not in text] == []


def test_modules_list_their_exports() -> None:
    module = ModuleType("engine.example")
    module.__all__ = ["kept", "number"]  # pyright: ignore[reportAttributeAccessIssue]
    module.kept, module.number = api.public, 3  # pyright: ignore[reportAttributeAccessIssue]
    assert api.public(module) == []
    assert {"Linear", "Module"} <= set(api.public(sys.modules["engine.nn"]))
