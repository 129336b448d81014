"""Reads the program of a project and module classes from their syntax trees."""
