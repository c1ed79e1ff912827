"""Whatever makes columns: activations, random, fuzzy and complex layers."""
