"""Ops that move elements without computing: views, joins, splits, flips."""
