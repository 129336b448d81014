"""Checks of single layers and of gradients through them."""
