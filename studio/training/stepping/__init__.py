"""One training step, node by node: forward, backward and update, with all values."""
