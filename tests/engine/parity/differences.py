"""Where arguments of ours differ from PyTorch's, by reason, as `signatures.py` prints them."""

from __future__ import annotations

DIFFERENCES: dict[str, tuple[str, ...]] = {}
