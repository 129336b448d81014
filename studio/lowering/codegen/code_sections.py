"""The sources of Python nodes in a generated program: in front of the classes, with distinct names."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from engine.system.syntax import parse_source
from studio.document.weight_sharing import params_of
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.codegen.name_replacement import replace_globals
from studio.lowering.codegen.safe_identifiers import MODULES, Locals
from studio.nodes.python_node import PYTHON, source_of
from studio.nodes.python_source import code_tree, read_code

HEADING = "# Python node "
"""Beginning of the line before each source."""
END = "# Graph"
"""The line after the last source."""
_IMPORTS = {
    "F": "from engine.nn import functional as F",
    "torch": "import engine as torch",
    "Tensor": "from engine import Tensor",
}
"""Imports of names that source may use without an import, and that are no modules of generated programs."""


@dataclass(frozen=True, slots=True)
class CodeSection:
    """One source, which all nodes that have it share."""

    source: str
    text: str
    """As in the program: the source, with other names if an earlier source or the program has the same ones."""
    entry: str
    """Name of its function or class in the program."""
    nodes: tuple[str, ...]
    """Paths of the nodes, without the index of a copy."""
    first_line: int = 1
    """Line of the program where it begins."""

    @property
    def last_line(self) -> int:
        return self.first_line + self.text.count("\n")

    def source_line(self, line: int) -> int:
        """The line of the source that a line of the program is."""
        own = line - self.first_line + 1
        if self.text == _plain(self.source):
            return own
        written, original = ast.walk(parse_source(self.text)), ast.walk(code_tree(self.source))
        pairs = ((getattr(a, "lineno", 0), getattr(b, "lineno", 0)) for a, b in zip(written, original, strict=True))
        return dict(pairs).get(own, own)


class CodeSections:
    """The sections of the nodes of a run, in the order of computation.

    Args:
        reserved: further names that the program cannot use for its classes and variables
    """

    def __init__(self, flow: Dataflow, reserved: Collection[str] = ()) -> None:
        nodes = flow.document.nodes
        self._by_source: dict[str, CodeSection] = {}
        self.used_names: set[str] = set()
        """Names that sections take from the program: modules, and those in `_IMPORTS`."""
        self._reserved = frozenset(reserved)
        taken = Locals(reserved)
        imported: dict[str, str] = {}
        for path in flow.facts:
            if path not in flow.graph.needed or flow.graph.types[path].key != PYTHON:
                continue
            source = source_of(params_of(nodes, path))
            plain = ".".join(part for part in path.split(".") if not part.isdecimal())
            known = self._by_source.get(source)
            if known is None:
                self._by_source[source] = self._section(source, plain, taken, imported)
            elif plain not in known.nodes:
                self._by_source[source] = replace(known, nodes=(*known.nodes, plain))

    def entry(self, source: str) -> str:
        """The name of the function or class of a source in the program."""
        return self._by_source[source].entry

    @property
    def names(self) -> frozenset[str]:
        """Names that classes of the program and variables in them cannot have."""
        return frozenset(
            name for each in self._by_source.values() for name in read_code(each.text).names | {each.entry}
        ) | (self.used_names - MODULES | self._reserved)

    @property
    def imports(self) -> str:
        """The imports that only the sources use."""
        return "".join(f"\n{line}" for name, line in _IMPORTS.items() if name in self.used_names)

    def placed(self, head: str) -> tuple[str, tuple[CodeSection, ...]]:
        """The text to insert after the imports, and the sections with their lines.

        Args:
            head: the imports of the program
        """
        text = self.imports
        placed: list[CodeSection] = []
        for section in self._by_source.values():
            text += f"\n\n\n{HEADING}{', '.join(section.nodes)}\n"
            placed.append(replace(section, first_line=head.count("\n") + text.count("\n") + 1))
            text += section.text
        return f"{text}\n\n\n{END}" if placed else text, tuple(placed)

    def _section(self, source: str, path: str, taken: Locals, imported: dict[str, str]) -> CodeSection:
        code, tree = read_code(source), code_tree(source)
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - code.names
        self.used_names |= used & ({*MODULES} | {*_IMPORTS})
        imports = _imports(tree)
        shared = {name for name, statement in imports.items() if imported.get(name) == statement}
        renames = {name: taken.new(name) for name in sorted(code.names - shared)}
        renames = {name: new for name, new in renames.items() if name != new}
        imported |= {name: statement for name, statement in imports.items() if name not in renames}
        text = ast.unparse(replace_globals(tree, renames)) if renames else _plain(source)
        return CodeSection(source, text, renames.get(code.entry, code.entry), (path,))


def _plain(source: str) -> str:
    """A source with plain line ends, without empty lines around it."""
    lines = [line.rstrip() for line in source.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    return "\n".join(lines).strip("\n") if not _has_long_text(source) else source.replace("\r\n", "\n").strip("\n")


def _has_long_text(source: str) -> bool:
    """Whether a source may have texts of several lines, in which trailing spaces matter."""
    return '"""' in source or "'''" in source


def _imports(tree: ast.Module) -> dict[str, str]:
    """The import statement of each name that one at the top level defines."""
    return {
        (alias.asname or alias.name).partition(".")[0]: ast.dump(statement)
        for statement in tree.body
        if isinstance(statement, (ast.Import, ast.ImportFrom))
        for alias in statement.names
    }


def without_code(text: str, sections: Sequence[CodeSection]) -> str:
    """A program with empty lines in place of the sources and what belongs to them."""
    lines = text.split("\n")
    for section in sections:
        lines[section.first_line - 2 : section.last_line] = [""] * (section.last_line - section.first_line + 2)
    return "\n".join("" if sections and line in _IMPORTS.values() else line for line in lines)


__all__ = ["END", "HEADING", "CodeSection", "CodeSections", "without_code"]
