"""The members of the noise-robust classifier: small models of several kinds, and trees."""
