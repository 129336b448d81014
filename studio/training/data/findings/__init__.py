"""Rules that find problems in samples and in how a graph uses them."""
