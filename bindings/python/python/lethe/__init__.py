"""De-identification of clinical notes.

>>> import lethe
>>> engine = lethe.Engine("en-clinical")
>>> engine.redact("Seen by Dr. Okafor on 03/05/2021.").text
'Seen by Dr. [DOCTOR] on [DATE].'
"""

from lethe._lethe import Redacted, Span, __version__, builtin_bundles, known_kinds
from lethe._tables import ArrowData
from lethe.engine import Engine
from lethe.errors import (
    BundleError,
    DictionaryError,
    Error,
    InternalError,
    PolicyError,
    QuarantineError,
    UnavailableError,
)

__all__ = [
    "ArrowData",
    "BundleError",
    "DictionaryError",
    "Engine",
    "Error",
    "InternalError",
    "PolicyError",
    "QuarantineError",
    "Redacted",
    "Span",
    "UnavailableError",
    "__version__",
    "builtin_bundles",
    "known_kinds",
]
