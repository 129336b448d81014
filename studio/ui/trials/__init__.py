"""The dialog of experiments before a run."""
