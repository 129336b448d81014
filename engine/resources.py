"""Where the files in `assets/` are: beside the packages in a checkout, inside `engine` in an installed wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_ROOT = next(
    (folder for folder in (_PACKAGE / "assets", _PACKAGE.parent / "assets") if folder.is_dir()),
    _PACKAGE.parent / "assets",
)


def asset(path: str) -> Path:
    """The file or folder `path`, written with slashes, below `assets/`: ``asset("data/digits")``.

    Raises FileNotFoundError if the installation lacks it.
    """
    found = _ROOT / path
    if not found.exists():
        raise FileNotFoundError(f"{found} is missing, so this copy of Gradwire is incomplete. Install it again.")
    return found
