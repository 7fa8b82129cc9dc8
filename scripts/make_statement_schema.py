"""Write the JSON Schema of the statement into the docs."""

import json
from pathlib import Path

from pointveil.statement import statement_schema

PATH = Path(__file__).parent.parent / "docs" / "statement.schema.json"


def schema_text() -> str:
    """Return the file's content."""
    return json.dumps(statement_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    PATH.write_text(schema_text(), encoding="utf-8")
