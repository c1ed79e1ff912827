"""The comparison of a user's models on a user's tables."""
