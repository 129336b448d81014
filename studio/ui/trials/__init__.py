"""Dialogs for short experiments before a run: learning-rate finder and overfitting one batch."""
