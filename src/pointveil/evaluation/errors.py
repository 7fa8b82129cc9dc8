"""How a measure says that it has no answer."""

from pointveil.errors import InputError


class UnmeasuredError(InputError):
    """A measure has no answer for these points or this world; the text says why."""
