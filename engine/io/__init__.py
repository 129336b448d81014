"""Files: weights and checkpoints as safetensors, those of PyTorch and NumPy, and atomic writes."""

from __future__ import annotations

from engine.io.checkpoint import load as load
from engine.io.checkpoint import save as save
from engine.io.safetensors_files import load_file as load_file
from engine.io.safetensors_files import read_metadata as read_metadata
from engine.io.safetensors_files import save_file as save_file
from engine.io.stored_tensor import StoredTensor as StoredTensor
from engine.io.stored_tensor import WeightsFile as WeightsFile
from engine.io.weights_opening import open_weights as open_weights

__all__ = ["StoredTensor", "WeightsFile", "load", "load_file", "open_weights", "read_metadata", "save", "save_file"]
