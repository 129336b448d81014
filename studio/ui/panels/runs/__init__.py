"""Training curves and the list of a project's runs."""
