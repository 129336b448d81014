"""What the pointer does between a press and its release. One gesture lasts at a time, and Escape takes it back."""
