"""The deep-learning library beneath Gradwire: PyTorch's concepts and names on NumPy and CuPy."""
