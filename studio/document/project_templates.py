"""Project templates in `assets/templates`."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from engine.system.assets import asset
from studio.document.document_errors import FileError
from studio.document.model import Document
from studio.document.project_files import load
from studio.document.project_format import SUFFIX


@dataclass(frozen=True, slots=True)
class Template:
    """A project template. Its title is the first line of its description, its summary the rest."""

    key: str
    """File name without suffix, used on the command line."""
    document: Document

    @property
    def title(self) -> str:
        return self.document.description.strip().partition("\n")[0] or self.key.replace("_", " ").capitalize()

    @property
    def summary(self) -> str:
        return self.document.description.strip().partition("\n")[2].strip()


def templates() -> tuple[Template, ...]:
    """All templates, the simplest first. Raises FileError or FileNotFoundError if the installation is damaged."""
    found = [Template(path.stem, load(path)) for path in asset("templates").glob(f"*{SUFFIX}")]
    return tuple(sorted(found, key=lambda template: (len(template.document.nodes), template.key)))


def template(key: str) -> Template:
    """Return a template by name. Raises FileError with a list of names for an unknown one."""
    found = {each.key: each for each in templates()}
    if key not in found:
        close = difflib.get_close_matches(key, found, n=1)
        remedy = f"Did you mean {close[0]}?" if close else f"Choose one of: {', '.join(found)}."
        raise FileError(key, "", "is not a template", remedy)
    return found[key]
