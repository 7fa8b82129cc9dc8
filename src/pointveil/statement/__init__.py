"""What a release promises, in words and signed; it is handed paid-for facts, never a record."""

from pointveil.statement.certificate import certificate as certificate
from pointveil.statement.document import ONE_POINT as ONE_POINT
from pointveil.statement.document import Asked as Asked
from pointveil.statement.document import MethodUsed as MethodUsed
from pointveil.statement.document import OperatorStates as OperatorStates
from pointveil.statement.document import Output as Output
from pointveil.statement.document import OutputFile as OutputFile
from pointveil.statement.document import PriorUsed as PriorUsed
from pointveil.statement.document import Recorded as Recorded
from pointveil.statement.document import Statement as Statement
from pointveil.statement.document import digest_of as digest_of
from pointveil.statement.document import explain as explain
from pointveil.statement.document import statement_schema as statement_schema
from pointveil.statement.margins import NINE_IN_TEN as NINE_IN_TEN
from pointveil.statement.margins import Margins as Margins
from pointveil.statement.parsing import MOST_BYTES as MOST_BYTES
from pointveil.statement.parsing import parse_object as parse_object
from pointveil.statement.parsing import parse_signed as parse_signed
from pointveil.statement.parsing import parse_statement as parse_statement
from pointveil.statement.registry import registry_entry as registry_entry
from pointveil.statement.signing import SigningKey as SigningKey
from pointveil.statement.signing import default_key_path as default_key_path
from pointveil.statement.signing import find_key as find_key
from pointveil.statement.signing import read_public_key as read_public_key
from pointveil.statement.wording import Spend as Spend
from pointveil.statement.wording import describe as describe
