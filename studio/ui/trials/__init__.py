"""Trials before a run: windows that show how they go and what they come to."""
