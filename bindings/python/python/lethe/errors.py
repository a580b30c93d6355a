"""Exceptions of this package. None quotes a note: messages of exceptions reach logs."""

from __future__ import annotations

from typing import Optional


class Error(Exception):
    """An error of this package."""


class BundleError(Error, ValueError):
    """The bundle is neither built in nor a folder, or is damaged or not signed."""


class DictionaryError(Error, ValueError):
    """The dictionary file cannot be read or is not a compiled dictionary."""


class PolicyError(Error, ValueError):
    """The policy is not valid, or a file that it names cannot be read. The message names the key."""


class QuarantineError(Error):
    """A note cannot be processed completely, so nothing of it is returned.

    Attributes:
        code: Why, as the program's column ``quarantine`` has it, such as ``over_budget``.
        row: The row in the data, from 0; ``None`` for a note by itself.
        column: The column in the data; ``None`` for a note or a column by itself.
    """

    def __init__(self, code: str, row: Optional[int] = None, column: Optional[str] = None) -> None:
        # The arguments, so that the exception can be pickled on its way from another process.
        super().__init__(code, row, column)
        self.code = code
        self.row = row
        self.column = column

    def __str__(self) -> str:
        note = "the note" if self.row is None else f"the note in row {self.row}"
        column = "" if self.column is None else f" of column `{self.column}`"
        return f"{note}{column} cannot be redacted ({self.code})"


class UnavailableError(Error):
    """A service that the policy needs does not respond, such as its vault. The same call may succeed later."""


class InternalError(Error, RuntimeError):
    """A fault of this package. Its message is withheld, since it could quote a note."""
