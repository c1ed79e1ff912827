"""Whatever weighs rows: Eqs. 1-8 exactly, from landmarks, and in streams."""
