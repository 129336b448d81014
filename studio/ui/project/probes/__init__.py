"""The probes of an open project, and the thread that computes what they show."""
