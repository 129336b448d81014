"""Autograd panel: the backward graph of one training step."""
