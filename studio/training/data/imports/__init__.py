"""Import of data files: which nodes read a file, with arguments fitted to it."""
