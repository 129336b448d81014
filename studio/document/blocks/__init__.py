"""Blocks: definitions, their instances, the library, and edits of both."""
