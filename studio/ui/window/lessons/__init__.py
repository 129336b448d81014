"""Lessons in the window: opening them, and a card that points at the controls of a step."""
