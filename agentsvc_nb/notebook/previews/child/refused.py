"""The one error that a decoder raises itself."""


class Refused(Exception):
    """Why the file is not looked at: the end of a sentence."""
