"""Signal processing: window functions, with PyTorch's names."""

from engine.signal import windows as windows

__all__ = ["windows"]
