"""Compile panel: segments, kernels, graph breaks and recompiles of the training step."""
