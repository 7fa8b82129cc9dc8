"""Ask about the kept columns, and give synthetic points their codes: handed noisy answers, never a record."""

from pointveil.keeping.assignment import walk as walk
from pointveil.keeping.drawing import draw_codes as draw_codes
from pointveil.keeping.laws import Laws as Laws
from pointveil.keeping.laws import learn_laws as learn_laws
from pointveil.keeping.regions import PLACES as PLACES
