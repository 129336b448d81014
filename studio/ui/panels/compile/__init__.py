"""What became of the compiled training step: segments, kernels, graph breaks, recompiles."""
