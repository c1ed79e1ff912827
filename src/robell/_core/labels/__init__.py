"""Noise rates, label probabilities and cuts."""
