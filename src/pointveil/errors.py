"""The errors that Pointveil raises on purpose."""


class InputError(ValueError):
    """A file, column or option is not what it should be; the text says which, and what to do."""


class BudgetError(ValueError):
    """More epsilon was asked for than is left."""


class VerificationError(ValueError):
    """A release or its statement is not what it claims to be."""


class MissingExtraError(ImportError):
    """A part that is not in the core install was asked for."""


def missing_extra(extra: str, package: str) -> MissingExtraError:
    """Return the error to raise when `package` is needed and is not installed."""
    return MissingExtraError(
        f"This needs {package}, which is not in the core install. Get it with: pip install 'pointveil[{extra}]'",
    )
