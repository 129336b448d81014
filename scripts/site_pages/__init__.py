"""Documentation pages that are generated from the program."""

from __future__ import annotations

from collections.abc import Iterator

from site_pages import api, commands, lessons, onnx_ops, problems, project_file, settings
from studio.reference import block_pages, node_pages, template_pages


def pages() -> Iterator[tuple[str, str]]:
    """Yield the path below docs/ and the Markdown of every generated page."""
    for part in (
        commands,
        project_file,
        lessons,
        problems,
        settings,
        onnx_ops,
        node_pages,
        block_pages,
        template_pages,
        api,
    ):
        yield from part.pages()


__all__ = ["pages"]
