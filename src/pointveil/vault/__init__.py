"""The door of the vault: what the rest of the code may know of it."""

from pointveil.vault.account import exact_epsilon as exact_epsilon
from pointveil.vault.ledger import DEFAULT_CAP as DEFAULT_CAP
from pointveil.vault.ledger import Ledger as Ledger
from pointveil.vault.ledger import default_ledger_path as default_ledger_path
from pointveil.vault.questions import Cells as Cells
from pointveil.vault.questions import Everywhere as Everywhere
from pointveil.vault.questions import Respondent as Respondent
from pointveil.vault.questions import Share as Share
from pointveil.vault.questions import Sites as Sites
from pointveil.vault.registry import registry_entry as registry_entry
from pointveil.vault.rehearsal import Rehearsal as Rehearsal
from pointveil.vault.releases import NoisyCounts as NoisyCounts
from pointveil.vault.releases import NoisyPoints as NoisyPoints
from pointveil.vault.releases import laplace_variance as laplace_variance
from pointveil.vault.signing import SigningKey as SigningKey
from pointveil.vault.signing import default_key_path as default_key_path
from pointveil.vault.signing import read_public_key as read_public_key
from pointveil.vault.statement import MethodUsed as MethodUsed
from pointveil.vault.statement import Output as Output
from pointveil.vault.statement import OutputFile as OutputFile
from pointveil.vault.statement import Statement as Statement
from pointveil.vault.statement import explain as explain
from pointveil.vault.statement import parse_statement as parse_statement
from pointveil.vault.statement import statement_schema as statement_schema
from pointveil.vault.vault import Vault as Vault
from pointveil.vault.wording import scripted_statement as scripted_statement
