"""torch.backends.opt_einsum: switches without effect."""

from __future__ import annotations

enabled = False
strategy: str | None = None


def is_available() -> bool:
    """Return False."""
    return False
