"""From a raw table to a decision: a model, what it is worth on held-out rows, and its threshold."""
