"""Names of PyTorch's strategies to share tensors between processes. They have no effect: tensors are copied."""

from __future__ import annotations

STRATEGY = "file_system"
"""What PyTorch calls the way that needs no open files; the name has no effect here."""


def get_all_sharing_strategies() -> set[str]:
    """The names that `set_sharing_strategy` takes."""
    return {"file_descriptor", "file_system"}


def get_sharing_strategy() -> str:
    """The name that was set last."""
    return STRATEGY


def set_sharing_strategy(new_strategy: str) -> None:
    """Accepted so that programs run unchanged: tensors are copied in any case."""
    global STRATEGY
    if new_strategy not in get_all_sharing_strategies():
        known = ", ".join(sorted(get_all_sharing_strategies()))
        raise ValueError(f"set_sharing_strategy() takes one of {known}, not {new_strategy!r}")
    STRATEGY = new_strategy
