"""What can be wrong with a data set."""


class MissingData(FileNotFoundError):
    """A set that is not there: the message says where it is at home, and which file is expected."""


class DamagedData(ValueError):
    """A file that is not what it should be."""
