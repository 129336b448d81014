"""The folder for unsaved work and the list of recent files."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def state_folder() -> Path:
    """The state folder of the user, or GRADWIRE_STATE if it is set. It may not exist yet."""
    chosen = os.environ.get("GRADWIRE_STATE")
    return Path(chosen) if chosen else platformdirs.user_state_path("gradwire", appauthor=False)
