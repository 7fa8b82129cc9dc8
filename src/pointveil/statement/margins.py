"""How far a count of synthetic points may be off: a small table, worked out from noisy answers alone."""

import math
from itertools import pairwise
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import BaseModel, ConfigDict, Field, model_validator

NINE_IN_TEN = 1.645  # standard deviations, to either side: errors of sums of many noisy counts are close to normal

Floats = NDArray[np.float64]
Above = Annotated[float, Field(gt=0, le=1e15)]
Knots = Annotated[tuple[Annotated[float, Field(ge=0, le=1e15)], ...], Field(min_length=1, max_length=20)]
Row = Annotated[tuple[Above, ...], Field(min_length=1, max_length=20)]
Table = Annotated[tuple[Row, ...], Field(min_length=1, max_length=20)]


class Margins(BaseModel):
    """Standard deviations of counts, by share of the points, area and count; between them, all is log-linear."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    people: Annotated[int, Field(ge=1, lt=2**63)]  # in all, as the noisy answers tell
    shares: Knots  # of all points that lie in the slice of time or category, rising to 1: all of them
    areas: Knots  # square metres, rising
    counts: Knots  # synthetic points in the area and the slice, rising
    deviations: Annotated[tuple[Table, ...], Field(min_length=1, max_length=20)]  # people, (shares, areas, counts)
    effective_sample: Annotated[float, Field(gt=0, le=1e6)] | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        knots = self.shares, self.areas, self.counts
        rising = all(low < high for each in knots for low, high in pairwise(each))
        lengths = {(len(self.deviations), len(table), len(row)) for table in self.deviations for row in table}
        if not rising or lengths != {tuple(map(len, knots))} or self.shares[-1] != 1 or min(self.areas) <= 0:
            raise ValueError("the table of deviations does not fit its edges")
        return self

    def deviation(self, count: ArrayLike, area: float, share: float = 1.0) -> Any:
        """Return the standard deviation of counts of points in an area (m²); beyond the table, that of its edge."""
        found = np.log(np.array(self.deviations))
        found = _between(np.log(self.shares), math.log(max(share, self.shares[0])), found)
        found = _between(np.log(self.areas), math.log(max(area, self.areas[0])), found)
        return np.exp(np.interp(np.log1p(np.maximum(count, 0)), np.log1p(self.counts), found))

    def margin(self, count: ArrayLike, area: float, share: float = 1.0) -> Any:
        """Return what to add and take off, so that nine in ten intervals hold the count of the real file."""
        return NINE_IN_TEN * self.deviation(count, area, share)


def _between(knots: Floats, place: float, values: Floats) -> Floats:
    """Return what lies at a place along the first axis of `values`, on straight lines from knot to knot."""
    position = float(np.interp(place, knots, np.arange(len(knots))))
    low = min(int(position), len(knots) - 1)
    high = min(low + 1, len(knots) - 1)
    return np.asarray(values[low] + (position - low) * (values[high] - values[low]))
