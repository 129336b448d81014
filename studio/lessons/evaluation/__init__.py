"""Evaluates the conditions of steps: of the graph, of runs and of values."""
