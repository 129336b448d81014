"""The import page: what a data file contains, and the nodes that read it."""
