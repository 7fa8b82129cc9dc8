"""The paper's methods exactly as published: handed real records by a rehearsal, not private, for comparison only."""

from pointveil.lab.as_published.rows import AS_PUBLISHED as AS_PUBLISHED
from pointveil.lab.as_published.rows import rehearse as rehearse
