"""Shared code for external tools: reads notes and writes spans in the format of an `external` member."""
import json
import sys


def without_overlaps(spans):
    """Keeps the longest of overlapping (start, end, label), then the earliest, then by label; in the order of the text."""
    kept = []
    for start, end, label in sorted(spans, key=lambda s: (s[0] - s[1], *s)):
        if all(end <= other[0] or other[1] <= start for other in kept):
            kept.append((start, end, label))
    return sorted(kept)


def run(usage, find):
    """Writes IN.jsonl's notes to OUT.jsonl with the predictions of `find` on a text: (start, end, label), in code points."""
    if len(sys.argv) != 3:
        sys.exit(usage)
    source, target = sys.argv[1:]
    with open(source, encoding="utf-8-sig") as notes, open(target, "w", encoding="utf-8", newline="\n") as found:
        for note in map(json.loads, filter(str.strip, notes)):
            spans = without_overlaps(find(note["text"]))
            spans = [{"start": start, "end": end, "label": label} for start, end, label in spans]
            line = {"doc_id": note["doc_id"], "text": note["text"], "spans": spans}
            found.write(json.dumps(line, ensure_ascii=False) + "\n")
