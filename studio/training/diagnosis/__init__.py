"""Diagnosis of runs from their losses and from statistics of their layers."""
