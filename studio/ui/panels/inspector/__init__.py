"""The form of what is selected."""
