"""Profiler panel: where the time and memory of training steps go."""
