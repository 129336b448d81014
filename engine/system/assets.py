"""Paths of installed files of `assets/` and `docs/`: beside the packages in a checkout, inside `engine` in a wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
_ROOT = next(
    (folder for folder in (_PACKAGE / "assets", _PACKAGE.parent / "assets") if folder.is_dir()),
    _PACKAGE.parent / "assets",
)

_PAGES = next(
    (folder for folder in (_PACKAGE / "docs", _PACKAGE.parent / "docs") if folder.is_dir()), _PACKAGE / "docs"
)


def page(name: str) -> Path:
    """Return the path of a documentation page: ``page("reference/graph-breaks.md")``.

    Raises FileNotFoundError if it is not installed.
    """
    return _existing(_PAGES / name)


def asset(path: str) -> Path:
    """Return the file or folder `path` (with slashes) below `assets/`: ``asset("data/digits")``.

    Raises FileNotFoundError if it is not installed.
    """
    return _existing(_ROOT / path)


def _existing(found: Path) -> Path:
    if not found.exists():
        raise FileNotFoundError(f"{found} is missing: the installation of Gradwire is incomplete. Install it again.")
    return found
