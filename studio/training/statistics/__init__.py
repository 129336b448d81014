"""Statistics of every wire, gradient and parameter at measured steps of a training."""
