"""The autograd graph of a training step: capture, groups, layout."""
