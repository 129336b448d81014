"""The comparison of the shown project with another version of it."""
