"""Profiles of training steps: time and memory of nodes and kernels, and the limits of the machine."""
