"""Settings that the user chooses, as declarations and as values."""
