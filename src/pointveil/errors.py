"""The errors that Pointveil raises on purpose, and its warnings."""

import difflib
from collections.abc import Iterable


def shown(text: str) -> str:
    """Return a text for a terminal: what it would obey instead of showing, but for line breaks, is written out."""
    return "".join(
        sign if sign.isprintable() or sign == "\n" else sign.encode("unicode_escape").decode() for sign in text
    )


def did_you_mean(wanted: str, known: Iterable[str]) -> str:
    """Return a question about the known name that is most like the one that was asked for, if one is; and a space."""
    names = list(known)
    lowered = {name.strip().lower(): name for name in reversed(names)}
    found = difflib.get_close_matches(wanted.strip().lower(), lowered, n=1, cutoff=0.7)
    return f"Did you mean {lowered[found[0]]!r}? " if found else ""


class PointveilError(Exception):
    """Every error that Pointveil raises on purpose; its text says what to do and quotes no record."""


class InputError(PointveilError, ValueError):
    """A file, column or option is not what it should be; the text says which, and what to do."""


class UnknownNameError(InputError, KeyError):
    """A table has no row of this name; the text lists those that it has."""

    __str__ = Exception.__str__  # a KeyError would quote the text


class UnmeasuredError(InputError):
    """A measure has no answer for these points or this world; the text says why."""


class BudgetError(PointveilError, ValueError):
    """More epsilon was asked for than is left."""


class StoppedError(PointveilError, ValueError):
    """A release was stopped early: its noisy total is hardly more than noise. All but that share was given back."""


class VerificationError(PointveilError, ValueError):
    """A release or its statement is not what it claims to be."""


class MissingExtraError(PointveilError, ImportError):
    """A part that is not in the core install was asked for."""


class PointveilWarning(UserWarning):
    """A release is made, but its owner should know something about it."""


def missing_extra(extra: str, package: str) -> MissingExtraError:
    """Return the error to raise when `package` is needed and is not installed."""
    return MissingExtraError(
        f"This needs {package}, which is not in the core install. Get it with: pip install 'pointveil[{extra}]'",
    )
