"""PyTorch's sharing strategies, which have no effect: tensors are copied."""

from __future__ import annotations

STRATEGY = "file_system"
"""Name of the current strategy; it has no effect."""


def get_all_sharing_strategies() -> set[str]:
    """Names that `set_sharing_strategy` accepts."""
    return {"file_descriptor", "file_system"}


def get_sharing_strategy() -> str:
    """Name of the current strategy."""
    return STRATEGY


def set_sharing_strategy(new_strategy: str) -> None:
    """Set the name of the strategy, for compatibility; tensors are copied in any case."""
    global STRATEGY
    if new_strategy not in get_all_sharing_strategies():
        known = ", ".join(sorted(get_all_sharing_strategies()))
        raise ValueError(f"new_strategy must be one of {known}, not {new_strategy!r}")
    STRATEGY = new_strategy
