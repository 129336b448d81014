"""Lessons: a project with steps that explain, ask for a prediction, and check what the learner did. No Qt."""
