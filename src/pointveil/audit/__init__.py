"""Try to tell two neighbouring datasets apart, for every method; holds no real data."""

from pointveil.audit.auditor import FAST as FAST
from pointveil.audit.auditor import Effort as Effort
from pointveil.audit.auditor import Finding as Finding
from pointveil.audit.auditor import audit as audit
from pointveil.audit.auditor import effort_for as effort_for
from pointveil.audit.auditor import subjects as subjects
from pointveil.audit.auditor import worst as worst
from pointveil.audit.subjects import Subject as Subject
