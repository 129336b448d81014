"""Switches of the libraries that PyTorch computes with. They can be set, and change nothing here."""

from __future__ import annotations

from engine.backends import cuda as cuda
from engine.backends import cudnn as cudnn
from engine.backends import mps as mps

__all__ = ["cuda", "cudnn", "mps"]
