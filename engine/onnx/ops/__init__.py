"""Translators of ops by kind. Importing this package registers them."""
