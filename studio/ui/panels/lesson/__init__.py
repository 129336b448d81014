"""The Lesson panel: text, prediction, checks and hints of the current step."""
