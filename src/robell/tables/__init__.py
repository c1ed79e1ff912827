"""A raw table made fit for models: read, sampled, its columns turned into numbers, its labels."""
