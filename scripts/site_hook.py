"""Hooks of MkDocs (mkdocs.yml): generated pages, their position in the navigation, bundled fonts."""

from __future__ import annotations

import logging
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from site_pages import api, pages  # noqa: E402 - needs the path above
from studio.reference import node_pages  # noqa: E402

COPIED = {
    "changelog.md": ROOT / "CHANGELOG.md",
    "contributing.md": ROOT / "CONTRIBUTING.md",
    "assets/app.svg": ROOT / "assets" / "icons" / "app.svg",
    **{f"assets/{path.name}": path for path in (ROOT / "assets" / "fonts").glob("*.[ot]tf")},
}
EXTERNAL = re.compile(r'<(?:script|img|iframe)[^>]+src="https?://|<link[^>]+rel="stylesheet"[^>]+href="https?://')
DOCUMENT_LINK = re.compile(r"\]\(docs/")


LOG = logging.getLogger("mkdocs.hooks.site")


def _is_relevant(record: logging.LogRecord) -> bool:
    """Ignore griffe's warnings about names that `engine` takes from the op registry."""
    return "Unsupported item in engine.__all__" not in record.getMessage()


logging.getLogger("mkdocs.plugins.griffe").addFilter(_is_relevant)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add generated pages to the navigation."""
    config.nav = _with_generated_pages(config.nav)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for path, text in pages():
        files.append(File.generated(config, path, content=text))
    for path, source in COPIED.items():
        content = DOCUMENT_LINK.sub("](", source.read_text("utf-8")) if source.suffix == ".md" else source.read_bytes()
        files.append(File.generated(config, path, content=content))
    return files


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Warn about pages that load files from the network; they must work offline."""
    if found := EXTERNAL.search(output):
        LOG.warning("%s loads a file from the network: %s", page.file.src_uri, found[0])
    return output


def _with_generated_pages(nav: Any) -> Any:
    match nav:
        case dict():
            return {title: _with_generated_pages(part) for title, part in nav.items()}
        case list():
            return [_with_generated_pages(one) for one in nav]
        case _:
            return GENERATED.get(nav, nav)


GENERATED: dict[str, list[Any]] = {
    "reference/nodes/": [
        "reference/nodes/index.md",
        *({category: [{title: path} for title, path in found]} for category, found in node_pages.titles().items()),
    ],
    "reference/engine/": [
        "reference/engine/index.md",
        {"Tensors and functions": api.path("engine")},
        *({name: api.path(name)} for name in api.MODULES),
    ],
    "decisions/": [f"decisions/{path.name}" for path in sorted((ROOT / "docs" / "decisions").glob("*.md"))],
}
"""Pages by their placeholder in mkdocs.yml."""
