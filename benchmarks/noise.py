"""Time the noise: our sampler at several epsilons, its bare randomness, and OpenDP."""

import argparse
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from time import perf_counter

from pointveil.errors import MissingExtraError
from pointveil.vault.noise import CHUNK, DiscreteLaplace, OpenDPLaplace, secure_words

EPSILONS = ("50", "5", "1", "0.1", "0.01", "0.001", "0.0001", "0.00001", "0.000001")


def best_seconds(action: Callable[[], object], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start = perf_counter()
        action()
        times.append(perf_counter() - start)
    return min(times)


def draw_words(count: int) -> None:
    for _ in range(0, count, CHUNK):
        secure_words(CHUNK)


def time_opendp(count: int, rounds: int) -> None:
    try:
        noise = OpenDPLaplace(Fraction(1))
    except MissingExtraError as error:
        print(f"OpenDP was not timed. {error}")
        return
    seconds = best_seconds(partial(noise.draw, count, secure_words), rounds)
    print(f"{'OpenDP, epsilon 1':<22}{count / seconds / 1e6:>10.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3, help="the best of so many is told")
    options = parser.parse_args()

    print(f"{'':<22}{'million/s':>10}{'table ms':>10}")
    seconds = best_seconds(partial(draw_words, options.draws), options.rounds)
    print(f"{'words alone':<22}{options.draws / seconds / 1e6:>10.1f}")
    for text in EPSILONS:
        noise = DiscreteLaplace(Fraction(text))
        table = best_seconds(partial(noise.draw, 1, secure_words), 1)
        seconds = best_seconds(partial(noise.draw, options.draws, secure_words), options.rounds)
        print(f"{'exact, epsilon ' + text:<22}{options.draws / seconds / 1e6:>10.1f}{1e3 * table:>10.1f}")
    time_opendp(max(1, options.draws // 100), options.rounds)


if __name__ == "__main__":
    main()
