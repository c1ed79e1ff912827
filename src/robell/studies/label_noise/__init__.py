"""The study of wrong labels."""
