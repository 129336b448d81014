"""Pages of the documentation that are generated from the program itself."""

from __future__ import annotations

from collections.abc import Iterator

from site_pages import api, commands, problems, project_file
from studio.reference import nodes


def pages() -> Iterator[tuple[str, str]]:
    """Every generated page: its path below docs/, and its Markdown."""
    for part in (commands, project_file, problems, nodes, api):
        yield from part.pages()


__all__ = ["pages"]
