from __future__ import annotations

from tests.ui.canvas.conftest import checker, make_view, store, themes, user, view

__all__ = ["checker", "make_view", "store", "themes", "user", "view"]
