"""Where Gradwire keeps what is neither a project nor a setting: unsaved work and the list of recent files."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def state_folder() -> Path:
    """The user's state folder of Gradwire, which need not exist; GRADWIRE_STATE names another one."""
    chosen = os.environ.get("GRADWIRE_STATE")
    return Path(chosen) if chosen else platformdirs.user_state_path("gradwire", appauthor=False)
