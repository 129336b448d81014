"""The sources of Python nodes in an edited program: between their headings and the line before the classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from studio.lowering.codegen.code_sections import END, HEADING, CodeSection, without_code
from studio.lowering.program import Program
from studio.lowering.source_import.reading.source_errors import SourceError
from studio.nodes.python_errors import CodeError
from studio.nodes.python_node import DEFAULT_SOURCE
from studio.nodes.python_source import read_code


@dataclass(frozen=True, slots=True)
class TypedSection:
    """One source in an edited program."""

    entry: str
    """Name of its function or class in the program."""
    source: str
    first_line: int
    is_known: bool = False
    """Whether the program had it before the edit."""


@dataclass(frozen=True, slots=True)
class ProgramText:
    """A program, taken apart."""

    graph: str
    """The text with empty lines in place of the sources, and of what belongs to them."""
    sections: tuple[TypedSection, ...] = ()

    @property
    def sources(self) -> Mapping[str, str]:
        """Sources by the name of their function or class."""
        return {section.entry: section.source for section in self.sections}


def generated_text(program: Program) -> ProgramText:
    """The program before the edit."""
    known = [TypedSection(each.entry, each.source, each.first_line, is_known=True) for each in program.code]
    graph = "\n".join("" if line == END else line for line in without_code(program.source, program.code).split("\n"))
    return ProgramText(graph, tuple(known))


def edited_text(text: str, known: Sequence[CodeSection]) -> ProgramText:
    """The program after the edit.

    Args:
        known: the sections before it

    Raises:
        SourceError: a source cannot be used, or a line between the sources is missing.
    """
    lines = text.split("\n")
    ends = [number for number, line in enumerate(lines) if line.rstrip() == END]
    starts = [number for number, line in enumerate(lines) if line.startswith(HEADING.rstrip())]
    if not starts and not ends:
        return ProgramText(text)
    if not ends:
        raise SourceError(
            f"The line {END!r} is missing, which separates Python nodes from the classes of the graph. Revert the code."
        )
    end = ends[-1]
    sections: list[TypedSection] = []
    for first, last in _ranges(lines, [start for start in starts if start < end], end, known):
        sections.append(_section(lines, first, last, known, sections))
    first = min([*starts, end])
    kept = [*lines[:first], *[""] * (end + 1 - first), *lines[end + 1 :]]
    return ProgramText("\n".join(kept), tuple(sections))


def typed_sources(program: Program, text: str) -> list[str]:
    """The sources that an edited program has and the program has not. Raises SourceError."""
    return [each.source for each in edited_text(text, program.code).sections if not each.is_known]


def _ranges(
    lines: Sequence[str], starts: Sequence[int], end: int, known: Sequence[CodeSection]
) -> Iterator[tuple[int, int]]:
    """The first line of each source, and the line after its last. A source may have lines that look like a heading."""
    texts = [section.text.split("\n") for section in known]
    at = 0
    while at < len(starts):
        first = starts[at] + 1
        same = [each for each in texts if lines[first : first + len(each)] == each]
        least = first + max(map(len, same), default=0)
        at = next((index for index in range(at + 1, len(starts)) if starts[index] >= least), len(starts))
        yield first, starts[at] if at < len(starts) else end


def _section(
    lines: Sequence[str], first: int, last: int, known: Sequence[CodeSection], before: Sequence[TypedSection]
) -> TypedSection:
    while first < last and not lines[first].strip():
        first += 1
    while first < last and not lines[last - 1].strip():
        last -= 1
    text = "\n".join(lines[first:last])
    same = next((each for each in known if each.text == text), None)
    if text == DEFAULT_SOURCE.strip("\n") and same is None:
        found = TypedSection(read_code(text).entry, DEFAULT_SOURCE, first + 1)
    elif same is not None:
        found = TypedSection(same.entry, same.source, first + 1, is_known=True)
    else:
        try:
            found = TypedSection(read_code(text).entry, text, first + 1)
        except CodeError as error:
            line, column = first + (error.line or 1), max((error.column or 1) - 1, 0)
            raise SourceError(f"The code cannot be used; {error.reason}.", line, column) from None
    if found.entry in {each.entry for each in before}:
        raise SourceError(f"Two Python nodes define {found.entry}. Rename one of the two.", found.first_line)
    return found


__all__ = ["ProgramText", "TypedSection", "edited_text", "generated_text", "typed_sources"]
