"""The Breakpoints panel, and the bar above the canvas at a hit."""
