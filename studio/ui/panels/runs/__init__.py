"""The curves and the list of this session's runs."""
