"""The engine: notes in, redacted notes out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Optional, Union

from lethe import _lethe, _tables
from lethe._progress import bar

if TYPE_CHECKING:
    from lethe._lethe import Redacted, Span

Path = Union[str, "os.PathLike[str]"]
Known = Mapping[str, Union[str, Iterable[str]]]


class Engine:
    """Finds identifiers in clinical notes and replaces them.

    An engine can be shared between threads, and pickled: another process opens the same files.

    Args:
        bundle: A built-in bundle (see :func:`lethe.builtin_bundles`), or the path of a bundle or of a folder of
            versions.
        policy: A policy file, which decides how each kind of identifier is replaced. Default: by its label.
        policy_text: A policy as text, instead of a file.
        keys: The file of the policy's keys, instead of the one that the policy names.
        dictionary: A dictionary that ``lethe dictionary build`` compiled, instead of the built-in one.
        signed_by: Files of minisign public keys. A bundle is then loaded only if one of them signed it; built-in
            bundles need no signature.
        operating_point: How the bundle's vote weighs recall against precision, if the bundle has that operating point:
            ``"recall"``, ``"balanced"`` or ``"precision"``.

    Raises:
        BundleError, DictionaryError, PolicyError: A file cannot be read or is not valid; the message names it.
    """

    def __init__(
        self,
        bundle: Path = "en-clinical",
        *,
        policy: Optional[Path] = None,
        policy_text: Optional[str] = None,
        keys: Optional[Path] = None,
        dictionary: Optional[Path] = None,
        signed_by: Optional[Sequence[Path]] = None,
        operating_point: str = "recall",
    ) -> None:
        self._options = {
            "bundle": bundle,
            "policy": policy,
            "policy_text": policy_text,
            "keys": keys,
            "dictionary": dictionary,
            "signed_by": signed_by,
            "operating_point": operating_point,
        }
        self._engine = _lethe.Engine(bundle, policy, policy_text, keys, dictionary, signed_by, operating_point)

    def redact(
        self,
        text: str,
        *,
        id: Optional[str] = None,
        patient: Optional[str] = None,
        known: Optional[Known] = None,
    ) -> Redacted:
        """Redact a note.

        Args:
            text: The note.
            id: The note's id. Policies whose surrogates differ from note to note need it.
            patient: The patient's id. A policy then replaces a name in the same way in all notes of the patient, and
                shifts all dates of the patient alike.
            known: What is known of the patient, by kind (see :func:`lethe.known_kinds`):
                ``{"patient": "Henry Quill", "phone": ["0131 496 0123", "0131 496 0199"]}``. It is redacted wherever
                the note has it.

        Raises:
            QuarantineError: The note cannot be processed completely. Nothing of it is returned.
            UnavailableError: A service that the policy needs does not respond.
        """
        return self._engine.redact(text, id, patient, _pairs(known))

    def annotate(
        self,
        text: str,
        *,
        id: Optional[str] = None,
        patient: Optional[str] = None,
        known: Optional[Known] = None,
    ) -> list[Span]:
        """Find the identifiers of a note, in order and without overlaps, and replace nothing.

        The arguments and exceptions are those of :meth:`redact`.
        """
        return self._engine.annotate(text, id, patient, _pairs(known))

    def redact_batch(
        self,
        data: Any,
        *,
        text: Union[str, Sequence[str], None] = None,
        id: Optional[str] = None,
        patient: Optional[str] = None,
        known: Optional[Known] = None,
        errors: Literal["raise", "null"] = "raise",
        audit: bool = False,
        threads: Optional[int] = None,
        progress: bool = False,
    ) -> Any:
        """Redact a column of notes, or columns of a table.

        Takes tables and columns of pandas, polars and pyarrow and returns the same class, with every other column as it
        was. Takes anything else with the Arrow PyCapsule interface, such as a relation of DuckDB, and returns a
        :class:`lethe.ArrowData`. Missing notes stay missing, and text keeps the type of its column.

        Args:
            data: The table or column.
            text: The columns of a table to redact. Not for a column by itself.
            id: The column of the notes' ids.
            patient: The column of the patients' ids.
            known: Columns of what is known of the patient, by kind: ``{"patient": ["first_name", "last_name"]}``.
            errors: What to do with a note that cannot be redacted: raise :class:`QuarantineError`, or make it null.
            audit: Whether to return what was found, too: then the result is a pair of the data and a table of the same
                library with a row for each identifier: ``row`` (from 0), ``column``, ``label``, ``start`` and ``end`` in
                characters of the note, ``replacement_start`` and ``replacement_end`` in those of the redacted note,
                ``score``, ``members``. It has no text.
            threads: How many threads to use. Default: as many as there are processors.
            progress: Whether to show a bar, if ``tqdm`` is installed.

        Raises:
            QuarantineError: The first note that cannot be redacted, with its row and column.
            UnavailableError: A service that the policy needs does not respond.
            TypeError: A column has no text; the message names it and its type.
            ValueError: There is no such column, or the data is damaged.
        """
        if errors not in ("raise", "null"):
            raise ValueError("`errors` is neither 'raise' nor 'null'")
        if threads is not None and threads < 1:
            raise ValueError("`threads` is less than 1")
        names = [text] if isinstance(text, str) else list(text or [])
        pairs = _pairs(known)
        needed = [*names, *(name for name in (id, patient) if name is not None), *(name for _, name in pairs)]
        found: Any = None
        with bar(progress, data, columns=max(len(names), 1)) as update:

            def call(arrow: object) -> Any:
                nonlocal found
                redacted, found = self._engine.redact_arrow(
                    arrow, names, id, patient, pairs, errors == "null", audit, threads, update
                )
                return redacted

            redacted = _tables.redact(data, names, needed, call)
        return (redacted, _tables.table_like(data, found)) if audit else redacted

    @property
    def labels(self) -> list[str]:
        """The labels that spans can have."""
        return self._engine.labels

    def presidio_entity(self, label: str) -> Optional[str]:
        """Return the entity that Presidio has for a label, such as ``PERSON`` for ``DOCTOR``; nothing for no label."""
        return self._engine.presidio_entity(label)

    @property
    def members(self) -> list[str]:
        """The members of the bundle, in the order of their votes."""
        return self._engine.members

    @property
    def bundle_digest(self) -> str:
        """The SHA-256 digest of the bundle in hexadecimal, which changes with everything in it."""
        return self._engine.bundle_digest

    def __repr__(self) -> str:
        return f"Engine({str(self._options['bundle'])!r}, members={self.members})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _engine, (self._options,)


def _engine(options: dict[str, Any]) -> Engine:
    return Engine(options["bundle"], **{name: value for name, value in options.items() if name != "bundle"})


def _pairs(known: Optional[Known]) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for kind, values in (known or {}).items():
        pairs.extend((kind, value) for value in ([values] if isinstance(values, str) else values))
    return pairs
