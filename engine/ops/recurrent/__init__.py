"""Recurrent layers over all time steps, each as one op."""
