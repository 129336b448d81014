"""Mouse gestures between press and release. One gesture runs at a time; Escape cancels it."""
