"""What the owner declares about the columns to keep: public facts only; no record is ever handed to this folder."""

from pointveil.columns.calendar import PATTERNS as PATTERNS
from pointveil.columns.calendar import RESOLUTIONS as RESOLUTIONS
from pointveil.columns.declared import check_keep as check_keep
from pointveil.columns.declared import from_dict as from_dict
from pointveil.columns.declared import parse_keep as parse_keep
from pointveil.columns.declared import read_keep_file as read_keep_file
from pointveil.columns.kinds import DROP as DROP
from pointveil.columns.kinds import Category as Category
from pointveil.columns.kinds import Column as Column
from pointveil.columns.kinds import Id as Id
from pointveil.columns.kinds import Number as Number
from pointveil.columns.kinds import Part as Part
from pointveil.columns.kinds import Time as Time
