"""Switches of cuDNN, which the engine does not use: they are accepted so that programs run unchanged."""

enabled = True
benchmark = False
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """Never."""
    return False


def version() -> int | None:
    """There is none."""
    return None
