"""Granular balls and the graphs between them."""
