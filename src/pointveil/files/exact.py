"""Exact numbers: epsilon, caps and shares are fractions, never rounded."""

import re
from fractions import Fraction
from numbers import Number

from pointveil.errors import InputError

# Bounded, so that no text stands for a number that fills the memory.
WRITTEN = re.compile(
    r"[+-]?([0-9]{1,30}(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,3})?|[0-9]{1,30}/0*[1-9][0-9]{0,29})", re.ASCII
)

MOST_EPSILON = 100  # of one release
STATED = re.compile(r"(0|[1-9][0-9]{0,199})(/[1-9][0-9]{0,199})?", re.ASCII)
LARGEST_STATED = 10**9


def stated_number(text: str) -> Fraction:
    """Return the fraction that a document states, not negative, in the one form that `str` gives a fraction."""
    if STATED.fullmatch(text) is None or str(number := Fraction(text)) != text or number > LARGEST_STATED:
        raise ValueError("a number is not an exact fraction such as 1/3 within bounds")
    return number


def exact_number(value: object, name: str, least: Fraction | int, most: Fraction | int) -> Fraction:
    """Return a number or a text such as "0.5" or "1/3" as a fraction between two bounds; errors call it `name`.

    A float stands for the shortest decimal that prints the same, so 0.1 means one tenth.
    """
    text = _text(value)
    if WRITTEN.fullmatch(text) is None:
        raise InputError(f"{name} must be a number such as 1, 0.5 or 1/3, not {text[:60] or value!r}.")
    number = Fraction(text)
    if not least <= number <= most:
        raise InputError(f"{name} must be at least {_plain(least)} and at most {_plain(most)}, not {text[:60]}.")
    return number


def _text(value: object) -> str:
    try:
        return str(value).strip() if isinstance(value, str | Number) else repr(value)
    except ValueError:  # Python refuses to print very large whole numbers
        return "a number of thousands of digits"


def _plain(bound: Fraction | int) -> str:
    return f"{float(bound):f}".rstrip("0").rstrip(".")
