"""Checks of time steps, tokens, masks and padding."""
