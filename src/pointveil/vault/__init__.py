"""The door of the vault, which holds the real records: others are handed noisy answers, and pay first."""

from pointveil.engines import VOTES as VOTES
from pointveil.engines import digests_of as digests_of
from pointveil.vault.account import exact_epsilon as exact_epsilon
from pointveil.vault.answers import NoisyCounts as NoisyCounts
from pointveil.vault.answers import NoisyPoints as NoisyPoints
from pointveil.vault.answers import laplace_variance as laplace_variance
from pointveil.vault.questions import Cells as Cells
from pointveil.vault.questions import Respondent as Respondent
from pointveil.vault.questions import Share as Share
from pointveil.vault.questions import Sites as Sites
from pointveil.vault.rehearsal import Rehearsal as Rehearsal
from pointveil.vault.rehearsal import scripted_statement as scripted_statement
from pointveil.vault.vault import NO_GATHERING as NO_GATHERING
from pointveil.vault.vault import Vault as Vault
