"""The Python that runs."""
