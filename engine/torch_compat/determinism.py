"""PyTorch's switches for determinism, precision and warnings. They have no effect: the engine is deterministic."""

from __future__ import annotations

from typing import Literal

_mode: int = 0
_precision: str = "highest"
_warn_always: bool = False


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Store the mode. Without effect: equal runs always give equal results."""
    set_deterministic_debug_mode(0 if not mode else 1 if warn_only else 2)


def are_deterministic_algorithms_enabled() -> bool:
    """Return whether `use_deterministic_algorithms` is on."""
    return _mode > 0


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Return whether `use_deterministic_algorithms` only warns."""
    return _mode == 1


def set_deterministic_debug_mode(debug_mode: int | Literal["default", "warn", "error"]) -> None:
    """Store the mode as 0, 1 or 2, or as "default", "warn" or "error"."""
    global _mode
    names = ("default", "warn", "error")
    _mode = names.index(debug_mode) if isinstance(debug_mode, str) else int(debug_mode)


def get_deterministic_debug_mode() -> int:
    """Return 0 ("default"), 1 ("warn") or 2 ("error")."""
    return _mode


def set_float32_matmul_precision(precision: Literal["highest", "high", "medium"]) -> None:
    """Store the precision. Without effect: float32 matrix products always have full precision."""
    global _precision
    if precision not in ("highest", "high", "medium"):
        raise ValueError(f"precision must be 'highest', 'high' or 'medium', not {precision!r}")
    _precision = precision


def get_float32_matmul_precision() -> str:
    """Return the value that `set_float32_matmul_precision` stored."""
    return _precision


def set_warn_always(b: bool, /) -> None:
    """Store the flag. Without effect: `warnings.simplefilter` decides how often a warning appears."""
    global _warn_always
    _warn_always = b


def is_warn_always_enabled() -> bool:
    """Return the value that `set_warn_always` stored."""
    return _warn_always


def set_flush_denormal(mode: bool) -> bool:
    """Return False: denormal numbers cannot be flushed to zero."""
    return False


__all__ = [
    "are_deterministic_algorithms_enabled",
    "get_deterministic_debug_mode",
    "get_float32_matmul_precision",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_warn_always_enabled",
    "set_deterministic_debug_mode",
    "set_float32_matmul_precision",
    "set_flush_denormal",
    "set_warn_always",
    "use_deterministic_algorithms",
]
