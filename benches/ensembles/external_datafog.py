"""What DataFog's regular expressions find in notes, for an `external` member.

    pip install -r requirements.txt                     datafog 4.9.0
    python external_datafog.py IN.jsonl OUT.jsonl

IN has `doc_id` and `text` a line; OUT has both again and `spans` of `start`, `end` (code points) and `label`. DataFog
has patterns for English and, on request, German; the English ones run here, as it has none for Spanish. Only its
pattern matcher is called, which fetches no model and sends nothing.
"""
import json
import sys

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


def without_overlaps(spans):
    """Of (start, end, label) that overlap the longest, then the earliest, then by label; in the order of the text."""
    kept = []
    for start, end, label in sorted(spans, key=lambda s: (s[0] - s[1], *s)):
        if all(end <= other[0] or other[1] <= start for other in kept):
            kept.append((start, end, label))
    return sorted(kept)


def main(source, target):
    datafog = RegexAnnotator()
    with open(source, encoding="utf-8-sig") as notes, open(target, "w", encoding="utf-8", newline="\n") as found:
        for note in map(json.loads, filter(str.strip, notes)):
            _, result = datafog.annotate_with_spans(note["text"])
            spans = [(s.start, s.end, CATEGORIES[s.label]) for s in result.spans if s.label in CATEGORIES]
            spans = [{"start": s, "end": e, "label": label} for s, e, label in without_overlaps(spans)]
            line = {"doc_id": note["doc_id"], "text": note["text"], "spans": spans}
            found.write(json.dumps(line, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
