"""Lethe as a component of a spaCy pipeline: ``pip install lethe-deid[spacy]``.

>>> import spacy
>>> nlp = spacy.blank("en")
>>> nlp.add_pipe("lethe", config={"bundle": "en-clinical"})
>>> doc = nlp("Seen by Dr. Okafor on 03/05/2021.")
>>> [(span.text, span.label_) for span in doc.spans["lethe"]]
[('Okafor', 'DOCTOR'), ('03/05/2021', 'DATE')]
>>> doc._.redacted
'Seen by Dr. [DOCTOR] on [DATE].'

Spans are those of tokens: where an identifier ends within a token, the span has the whole token, and ``doc._.redacted``
replaces the identifier only.
"""

from __future__ import annotations

from typing import Optional

from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import filter_spans

from lethe.engine import Engine


class LetheComponent:
    """Finds identifiers in the text of a document.

    Args:
        engine: The engine.
        spans_key: The key of ``doc.spans`` for the identifiers.
        set_ents: Whether they are entities of the document, too. They replace entities that they overlap.
    """

    def __init__(self, engine: Engine, spans_key: str = "lethe", set_ents: bool = False) -> None:
        self.engine = engine
        self.spans_key = spans_key
        self.set_ents = set_ents
        if not Doc.has_extension("redacted"):
            Doc.set_extension("redacted", default=None)

    def __call__(self, doc: Doc) -> Doc:
        redacted = self.engine.redact(doc.text)
        found = []
        for span in redacted.spans:
            tokens = doc.char_span(span.start, span.end, label=span.label, alignment_mode="expand")
            if tokens is not None:
                found.append(tokens)
        doc.spans[self.spans_key] = found
        doc._.redacted = redacted.text
        if self.set_ents:
            # Those of Lethe first: of spans that overlap, only one can be an entity.
            own = filter_spans(found)
            taken = {token.i for span in own for token in span}
            others = [ent for ent in doc.ents if not any(token.i in taken for token in ent)]
            doc.set_ents([*own, *others])
        return doc


@Language.factory(
    "lethe",
    default_config={
        "bundle": "en-clinical",
        "policy": None,
        "keys": None,
        "spans_key": "lethe",
        "set_ents": False,
    },
    assigns=["doc.spans", "doc._.redacted"],
)
def make_component(
    nlp: Language,
    name: str,
    bundle: str,
    policy: Optional[str],
    keys: Optional[str],
    spans_key: str,
    set_ents: bool,
) -> LetheComponent:
    """Create the component with an engine of these files."""
    return LetheComponent(Engine(bundle, policy=policy, keys=keys), spans_key, set_ents)
