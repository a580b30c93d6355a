"""Shared code of the tools: reads notes, writes spans and their cost."""
import importlib.metadata
import json
import resource
import sys
import time
from pathlib import Path

# Contains most types, so that a tool's lazy initialisation happens before the clock starts.
WARM_UP = "Seen by Dr. Ann Poe on 3/4/2015 in Salem, OR 97301. SSN 123-45-6789, 503-555-0123, ann@example.org."


def read(path):
    with open(path, encoding="utf-8-sig") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def write(path, documents):
    with open(path, "w", encoding="utf-8", newline="\n") as out:
        for document in documents:
            out.write(json.dumps(document, ensure_ascii=False) + "\n")


def cost(path, version, notes, seconds, kilobytes):
    megabytes = kilobytes / (1 << 20 if sys.platform == "darwin" else 1 << 10)
    Path(path).write_text(json.dumps({"version": version, "rate": notes / seconds, "megabytes": megabytes}) + "\n")


def peak_kilobytes():
    """The peak of this process' memory. That of getrusage is no less than the memory of the process that started this one."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), None) or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def options():
    """What the command line has after IN, OUT and COST."""
    return sys.argv[4:]


def without_overlaps(spans):
    """Of (start, end, label, ...) that overlap the longest, then the one that came first; in the order of the text."""
    kept = []
    for start, end, label, *_ in sorted(spans, key=lambda span: span[0] - span[1]):
        if start < end and all(end <= other[0] or other[1] <= start for other in kept):
            kept.append((start, end, label))
    return sorted(kept)


def run(package, find):
    """Annotates IN with what `find` finds in a text, (start, end, label) in code points: into OUT, its cost into COST.

    The clock is the process' own: other work on the machine does not count. A tool that breaks on a note has found
    nothing in it, and the note's time counts.
    """
    source, target, costs = sys.argv[1:4]
    notes = read(source)
    find(WARM_UP)
    found, broken, began = [], 0, time.process_time()
    for note in notes:
        try:
            found.append(list(find(note["text"])))
        except Exception as error:
            broken += 1
            found.append([])
            print(f"{package}: {note['doc_id']}: {type(error).__name__}", file=sys.stderr)
    seconds = time.process_time() - began
    peak = peak_kilobytes()
    if broken == len(notes):
        sys.exit(f"{package} broke on every note")
    for note, spans in zip(notes, found):
        spans = without_overlaps(spans)
        note["spans"] = [{"start": start, "end": end, "label": label} for start, end, label in spans]
    write(target, notes)
    cost(costs, importlib.metadata.version(package), len(notes), seconds, peak)
