"""Signal processing under PyTorch's names: windows."""

from engine.signal import windows as windows

__all__ = ["windows"]
