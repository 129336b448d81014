"""The History panel."""
