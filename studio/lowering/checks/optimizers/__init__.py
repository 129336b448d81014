"""Checks of optimizers, schedules and training settings."""
