"""torch.hub: reads weights from the cache folder. Nothing is downloaded."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from engine import io

_folder: str | None = None


def get_dir() -> str:
    """Return the cache folder: that of `set_dir`, $TORCH_HOME/hub, or gradwire/hub in the user's cache folder."""
    if _folder is not None:
        return _folder
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return str(Path(os.environ.get("TORCH_HOME") or Path(caches) / "gradwire") / "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Set the cache folder."""
    global _folder
    _folder = os.path.expanduser(d)


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> Any:
    """Load a file that was downloaded from `url` before, with `engine.load`.

    Args:
        url: address of the file; its last part is the file name
        model_dir: folder of the file (default: the folder "checkpoints" in `get_dir`)
        map_location: device of the tensors
        progress: no effect
        check_hash: no effect
        file_name: file name, instead of the last part of `url`
        weights_only: no effect: files never run code

    Raises:
        FileNotFoundError: the file is missing; the message contains the path to save it to
    """
    folder = Path(model_dir or Path(get_dir()) / "checkpoints")
    target = folder / (file_name or url.partition("?")[0].partition("#")[0].rpartition("/")[2])
    if not target.exists():
        raise FileNotFoundError(
            f"{target} is missing, and the engine does not use the network. Download {url} and save it there."
        )
    return io.load(target, map_location=map_location)


__all__ = ["get_dir", "load_state_dict_from_url", "set_dir"]
