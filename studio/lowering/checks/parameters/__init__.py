"""Checks of parameters, and the parameters that cause errors elsewhere."""
