"""Settings of PyTorch's compiler. They can be set and have no effect."""

cache_size_limit = 8
recompile_limit = 8
suppress_errors = False
verbose = False
