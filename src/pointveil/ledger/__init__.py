"""The account of epsilon on disk; it is handed fingerprints and prices, never a record."""

from pointveil.ledger.accounts import DEFAULT_CAP as DEFAULT_CAP
from pointveil.ledger.book import OWN as OWN
from pointveil.ledger.book import Ledger as Ledger
from pointveil.ledger.book import Own as Own
from pointveil.ledger.book import default_ledger_path as default_ledger_path
from pointveil.ledger.book import open_ledger as open_ledger
from pointveil.ledger.entries import Account as Account
from pointveil.ledger.entries import Charge as Charge
from pointveil.ledger.entries import exact_cap as exact_cap
from pointveil.ledger.entries import kind_of as kind_of
