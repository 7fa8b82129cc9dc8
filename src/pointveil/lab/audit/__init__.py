"""Try to tell two neighbouring datasets apart, for every method: handed invented records, never a real one."""

from pointveil.lab.audit.auditor import FAST as FAST
from pointveil.lab.audit.auditor import Effort as Effort
from pointveil.lab.audit.auditor import audit as audit
from pointveil.lab.audit.auditor import effort_for as effort_for
from pointveil.lab.audit.auditor import subjects as subjects
from pointveil.lab.audit.subjects import Subject as Subject
