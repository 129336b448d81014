"""Ops over windows of sequences, images and volumes."""
