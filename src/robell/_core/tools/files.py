"""Files of users: what is wrong with one, said in one line."""


class FileError(ValueError):
    """A file that cannot be used; the text is one line that says which and why."""
