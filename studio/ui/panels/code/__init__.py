"""The generated Python code."""
