"""The native half of the package: see engine.py for what callers use."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Optional, final

__all__ = ["Engine", "Redacted", "Span", "__version__", "builtin_bundles", "known_kinds"]
__version__: str

def builtin_bundles() -> list[str]:
    """Return the names of the bundles that the package contains."""

def known_kinds() -> list[str]:
    """Return the kinds of identifiers that ``known`` accepts."""

@final
class Span:
    """An identifier in a note."""

    @property
    def start(self) -> int:
        """The first character."""

    @property
    def end(self) -> int:
        """The character after the last one."""

    @property
    def label(self) -> str:
        """The label, such as ``PATIENT``."""

    @property
    def score(self) -> float:
        """The ensemble's score, 0 to 1."""

    @property
    def members(self) -> list[str]:
        """The members that predicted it; empty for another occurrence of a value that was found elsewhere."""

@final
class Redacted:
    """A redacted note. ``str(redacted)`` is its text."""

    @property
    def text(self) -> str:
        """The redacted text."""

    @property
    def spans(self) -> list[Span]:
        """What was found, in order and without overlaps, with places in the original note."""

    @property
    def replacements(self) -> list[tuple[int, int]]:
        """The start and end of each replacement in the redacted text, in the order of ``spans``."""

    @property
    def review(self) -> list[str]:
        """Why a person should check the note, such as ``low_margin``; empty without a reason."""

@final
class Engine:
    def __new__(
        cls,
        bundle: str | os.PathLike[str],
        policy: Optional[str | os.PathLike[str]] = None,
        policy_text: Optional[str] = None,
        keys: Optional[str | os.PathLike[str]] = None,
        dictionary: Optional[str | os.PathLike[str]] = None,
        signed_by: Optional[Sequence[str | os.PathLike[str]]] = None,
        operating_point: str = "recall",
    ) -> Engine: ...
    def redact(
        self, text: str, id: Optional[str], patient: Optional[str], known: list[tuple[str, str]]
    ) -> Redacted: ...
    def annotate(
        self, text: str, id: Optional[str], patient: Optional[str], known: list[tuple[str, str]]
    ) -> list[Span]: ...
    def redact_arrow(
        self,
        data: object,
        text: list[str],
        id: Optional[str],
        patient: Optional[str],
        known: list[tuple[str, str]],
        null_for_errors: bool,
        audit: bool,
        threads: Optional[int],
        progress: Optional[Callable[[int], object]],
    ) -> tuple[Any, Any]: ...
    def presidio_entity(self, label: str) -> Optional[str]: ...
    @property
    def labels(self) -> list[str]: ...
    @property
    def members(self) -> list[str]: ...
    @property
    def bundle_digest(self) -> str: ...
