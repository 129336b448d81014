"""Projects as frozen data: the graph, edits of it, history, and the file format."""

SUFFIX = ".gradwire"
"""The extension of project files."""
LESSON_SUFFIX = ".gradlesson"
"""The extension of lesson files."""
