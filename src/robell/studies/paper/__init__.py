"""The paper's study, measured again."""
