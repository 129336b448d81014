"""Files: weights and checkpoints as safetensors, and atomic writes."""

from __future__ import annotations

from engine.io.checkpoint import load as load
from engine.io.checkpoint import save as save
from engine.io.safetensors_files import load_file as load_file
from engine.io.safetensors_files import read_metadata as read_metadata
from engine.io.safetensors_files import save_file as save_file

__all__ = ["load", "load_file", "read_metadata", "save", "save_file"]
