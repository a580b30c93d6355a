"""Writes the predictions of DataFog's regular expressions on notes, for an `external` member.

    pip install -r requirements.txt                     datafog 4.9.0
    python external_datafog.py IN.jsonl OUT.jsonl

IN has `doc_id` and `text` a line; OUT has both again and `spans` of `start`, `end` (code points) and `label`. DataFog
has patterns for English and, on request, German; the English ones run here, as it has none for Spanish. Only its
pattern matcher is called, which fetches no model and sends nothing.
"""
import external
from datafog.processing.text_processing.regex_annotator import RegexAnnotator

CATEGORIES = {
    "DOB": "DATE",  # any date, of birth or not
    "EMAIL": "CONTACT",
    "IP_ADDRESS": "CONTACT",
    "PHONE": "CONTACT",
    "CREDIT_CARD": "ID",
    "SSN": "ID",
    "ZIP": "LOCATION",
}


def finder():
    """Returns DataFog's predictions on a text."""
    datafog = RegexAnnotator()

    def find(text):
        _, result = datafog.annotate_with_spans(text)
        return [(s.start, s.end, CATEGORIES[s.label]) for s in result.spans if s.label in CATEGORIES]

    return find


if __name__ == "__main__":
    external.run(__doc__, finder())
