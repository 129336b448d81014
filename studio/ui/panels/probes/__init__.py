"""The Probes panel: all probes of a project side by side."""
