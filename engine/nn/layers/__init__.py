"""The layers, one noun a file."""
