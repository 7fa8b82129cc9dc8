"""What is laid aside comes back whole, in order and as often as wished."""

from pathlib import Path

import pyarrow as pa
import pytest

from pointveil.files import laid_aside
from pointveil.files.laid_aside import LaidAside


def test_tables_come_back_whole_and_in_one_chunk_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(laid_aside, "ROWS", 3)
    laid = LaidAside(None)
    laid.add(pa.table({"n": pa.chunked_array([[0, 1], [2, 3, 4]])}))
    next(iter(laid))  # and no further
    laid.add(pa.table({"n": [5, 6, 7, 8]}))

    for _ in range(2):
        parts = [part.column(0) for part in laid]
        assert all(part.num_chunks == 1 for part in parts)
        assert [value for part in parts for value in part.to_pylist()] == list(range(9))
    assert laid.rows == 9


def test_a_file_that_was_cut_off_is_noticed() -> None:
    laid = LaidAside(None)
    laid.add(pa.table({"n": [1, 2, 3]}))
    laid._file.truncate(10)

    with pytest.raises(OSError, match="rror"):
        list(laid)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's /dev/full")
def test_a_full_disk_is_said_once_and_not_again_when_all_is_over() -> None:
    laid = LaidAside(None)
    laid._file.close()
    full = Path("/dev/full").open("wb")  # noqa: SIM115 - closed by what is tested
    laid._file = full  # type: ignore[assignment]

    with pytest.raises(OSError, match="No space"):
        laid.add(pa.table({"n": range(100_000)}))
    full.write(b"more that waits")
    laid.__del__()

    assert full.closed
