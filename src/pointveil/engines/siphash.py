"""SipHash-2-4 over whole arrays: a keyed pseudo-random function of a few 64-bit words."""

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.uint64]
START = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
BLOCK = 1 << 13
"""Messages that are worked on at once, so that all states fit into a processor's cache."""


def siphash(key: bytes, words: Numbers) -> Numbers:
    """Return the hash of each message, which is one column of `words` (w, n), under a key of 16 bytes."""
    with np.errstate(over="ignore"):
        parts = [_hashed(key, words[:, first : first + BLOCK]) for first in range(0, words.shape[1], BLOCK)]
    return np.concatenate([np.zeros(0, dtype=np.uint64), *parts])


def _hashed(key: bytes, words: Numbers) -> Numbers:
    halves = np.frombuffer(key, dtype="<u8")
    state = [np.full(words.shape[1], start ^ int(halves[i % 2]), dtype=np.uint64) for i, start in enumerate(START)]
    length = np.full(words.shape[1], (8 * len(words)) << 56, dtype=np.uint64)
    for word in [*words, length]:
        state[3] ^= word
        _rounds(state, 2)
        state[0] ^= word
    state[2] ^= np.uint64(0xFF)
    _rounds(state, 4)
    return np.asarray(state[0] ^ state[1] ^ state[2] ^ state[3])


def _rounds(state: list[Numbers], count: int) -> None:
    a, b, c, d = state
    for _ in range(count):
        _add(a, b, 13)
        _rotate(a, 32)
        _add(c, d, 16)
        _add(a, d, 21)
        _add(c, b, 17)
        _rotate(c, 32)


def _add(total: Numbers, other: Numbers, bits: int) -> None:
    total += other
    _rotate(other, bits)
    other ^= total


def _rotate(values: Numbers, bits: int) -> None:
    high = values << np.uint64(bits)
    values >>= np.uint64(64 - bits)
    values |= high
