"""Experiments: data sets, methods, and what runs and measures them."""
