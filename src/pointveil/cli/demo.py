"""pointveil demo: the whole thing on a built-in city."""

from pathlib import Path
from typing import Annotated

import typer

from pointveil.cli.common import Force, Json, Quiet, print_json, print_table, stage, tell
from pointveil.errors import InputError


def demo(
    directory: Annotated[Path, typer.Argument(help="Folder for the demo's files.")] = Path("pointveil-demo"),
    epsilon: Annotated[str, typer.Option("--epsilon", "-e", help="Privacy budget of each method's release.")] = "1",
    force: Force = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Synthesize a built-in city with every method: offline, in seconds, with pictures.

    The streets and the sea are real (© OpenStreetMap contributors); the 50,000 people are invented, which is why
    real and synthetic may be shown side by side, and errors printed. One more release keeps two columns: when people
    are there, and how they get around.
    """
    import dataclasses
    from functools import partial

    from pointveil.demo import ATTRIBUTION
    from pointveil.demo.story import tell_story

    if directory.is_dir() and any(directory.iterdir()) and not force:
        raise InputError(f"{directory} has files in it. Give another folder, or replace the demo's files with --force.")
    shown = partial(stage, quiet=quiet or json)
    results, kept, pictures = tell_story(directory, epsilon=epsilon, stage=shown)
    if json:
        rows, columns = ([dataclasses.asdict(each) for each in found] for found in (results, kept))
        print_json(
            {
                "results": rows,
                "columns": columns,
                "pictures": [str(picture) for picture in pictures],
                "attribution": ATTRIBUTION,
            }
        )
        return
    if not quiet:
        _show(results)
        _show_kept(kept)
    if not pictures:
        tell("No picture: it needs matplotlib. Get it with: pip install 'pointveil[figures]'", quiet=quiet)
    for picture in pictures:
        tell(f"Picture: {picture}", quiet=quiet)
    tell(f"Files: {directory}. Map: {ATTRIBUTION}. The people are invented.", quiet=quiet)


def _show(results: list) -> None:  # type: ignore[type-arg]
    rows = []
    for made in results:
        errors = f"{made.cell_error:.3f}", f"{made.road_difference:.2f} m"
        rows.append((made.method, f"{made.points:,}", *errors, f"{made.seconds:.1f} s"))
    columns = ("method", "points", "cell error (100 m)", "error of distance to streets", "CPU")
    print_table(columns, rows, title="Helsinki, invented people")
    print("Lower is better. A cell error of 0 means the same counts everywhere; 2 means that nothing is right.")


def _show_kept(kept: list) -> None:  # type: ignore[type-arg]
    rows = []
    for made in kept:
        wrong = f"{made.profile:.1%}", f"{made.profile_without_place:.1%}"
        rows.append((made.column, *wrong, f"{made.place_and_bin:.3f}", f"{made.place_and_bin_without_place:.3f}"))
    columns = ("kept column", "wrong in 1 km cells", "without looking at the place", "500 m cell × bin", "without")
    print_table(columns, rows, title="The default method once more, with the columns time and kind")
