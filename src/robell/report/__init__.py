"""Tables, figures and self-contained pages; knows no study and no audit."""
