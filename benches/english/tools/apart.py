"""Keeps what is scored apart: notes without a training text's sentences, and gold and predictions of some labels only."""
import re

# Characters from which a sentence is long enough not to be in two texts by chance.
LONG = 60
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


def sentences(text):
    return {each.strip() for each in SENTENCE_END.split(text) if len(each.strip()) >= LONG}


def unshared(notes, texts):
    """The notes that have no long sentence in common with the texts."""
    known = set().union(*map(sentences, texts))
    return [note for note in notes if not sentences(note["text"]) & known]


def restricted(gold, labels):
    """Gold spans of these labels only."""
    return gold | {"spans": [span for span in gold["spans"] if span["label"] in labels]}


def outside(predicted, gold, labels):
    """Predictions without the characters of gold spans of other labels than these: there a tool is neither right nor wrong."""
    kept = {at for span in gold["spans"] if span["label"] in labels for at in range(span["start"], span["end"])}
    ignored = {at for span in gold["spans"] for at in range(span["start"], span["end"])} - kept
    spans = []
    for span in predicted["spans"]:
        start = None
        for at in range(span["start"], span["end"] + 1):
            counts = at < span["end"] and at not in ignored
            if counts and start is None:
                start = at
            elif not counts and start is not None:
                # What is left of a prediction may be a blank or a comma between two ignored spans.
                if any(map(str.isalnum, predicted["text"][start:at])):
                    spans.append(span | {"start": start, "end": at})
                start = None
    return predicted | {"spans": spans}
