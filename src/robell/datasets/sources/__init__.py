"""Where the rows of a data set come from."""
