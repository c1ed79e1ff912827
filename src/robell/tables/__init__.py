"""A raw table made fit for models."""
