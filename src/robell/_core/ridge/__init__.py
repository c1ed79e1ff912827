"""Weighted ridge regression: one system, a grid of them, left-out rows, probabilities."""
