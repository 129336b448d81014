"""Minimal reproductions: the smallest part of a failing project that fails the same way."""
