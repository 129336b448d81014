"""Project templates in `assets/templates`."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path

from engine.system.assets import asset
from studio.document.document_errors import FileError
from studio.document.files.project_files import load
from studio.document.files.project_format import SUFFIX
from studio.document.model import Document

SECTIONS: Mapping[str, tuple[str, ...]] = {
    "First steps": ("digits-mlp", "digits-cnn", "penguins-classification"),
    "Images": (
        "digits-residual",
        "digits-resnet18",
        "digits-vit",
        "digits-autoencoder",
        "digits-denoising",
        "digits-gan",
    ),
    "Series and text": ("series-forecast", "shakespeare-lstm", "shakespeare-gpt"),
    "Own code": ("digits-python",),
    "Tables and pairs": ("penguins-regression", "digits-siamese"),
}
"""Keys of the templates in each section, the simplest first."""


@dataclass(frozen=True, slots=True)
class Template:
    """A project template. Its title is the first line of its description, its summary the rest."""

    key: str
    """File name without suffix, used on the command line."""
    document: Document

    @property
    def section(self) -> str:
        """The heading under which it is listed; the last one if `SECTIONS` does not name it."""
        return next((title for title, keys in SECTIONS.items() if self.key in keys), [*SECTIONS][-1])

    @property
    def title(self) -> str:
        return self.document.description.strip().partition("\n")[0] or self.key.replace("_", " ").capitalize()

    @property
    def summary(self) -> str:
        return self.document.description.strip().partition("\n")[2].strip()


def templates() -> tuple[Template, ...]:
    """All templates, as in `SECTIONS`. Raises FileError or FileNotFoundError if the installation is damaged."""
    return _templates_in(asset("templates"))


@cache
def _templates_in(folder: Path) -> tuple[Template, ...]:
    found = [Template(path.stem, load(path)) for path in folder.glob(f"*{SUFFIX}")]
    order = {key: index for index, key in enumerate(chain.from_iterable(SECTIONS.values()))}
    return tuple(sorted(found, key=lambda template: (order.get(template.key, len(order)), template.key)))


def template(key: str) -> Template:
    """Return a template by name. Raises FileError with a list of names for an unknown one."""
    found = {each.key: each for each in templates()}
    if key not in found:
        close = difflib.get_close_matches(key, found, n=1)
        remedy = f"Did you mean {close[0]}?" if close else f"Choose one of: {', '.join(found)}."
        raise FileError(key, "", "is not a template", remedy)
    return found[key]
