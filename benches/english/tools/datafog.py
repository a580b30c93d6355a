"""Runs DataFog's regular expressions for English, the part that needs no model."""
from datafog.processing.text_processing.regex_annotator import RegexAnnotator

from tools import common

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
    datafog = RegexAnnotator()

    def find(text):
        _, result = datafog.annotate_with_spans(text)
        return [(span.start, span.end, CATEGORIES.get(span.label, "OTHER")) for span in result.spans]

    return find


if __name__ == "__main__":
    common.run("datafog", finder())
