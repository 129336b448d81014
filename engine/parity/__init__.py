"""Coverage of PyTorch's public names, with reasons for missing ones: `python -m engine.parity`."""

from __future__ import annotations

from engine.parity.names import Name as Name
from engine.parity.names import names as names
from engine.parity.names import version as version
from engine.torch_compat.left_out import REASONS as REASONS

__all__ = ["REASONS", "Name", "names", "version"]
