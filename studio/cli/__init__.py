"""The command line: everything that works without a window."""

from __future__ import annotations

from studio.cli.command_line import main as main

__all__ = ["main"]
