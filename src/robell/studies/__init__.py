"""Studies that can be killed and resumed."""
