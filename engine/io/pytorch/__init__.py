"""PyTorch checkpoints, read without PyTorch: pickles are interpreted as data, and nothing is executed."""
