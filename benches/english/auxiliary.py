#!/usr/bin/env python3
"""Texts whose people, places and organisations were marked by people (Wikigold, WNUT 17, BTC, GUM, CrossNER), and abstracts and answers
that name nobody (NCBI disease, MedQuAD), as gold for the English bundle.

    auxiliary.py CORPUS.jsonl... > prepared.jsonl          blanks before punctuation taken out, labels of i2b2-2014
    auxiliary.py --marked FOUND.jsonl PREPARED.jsonl       adds what `lethe annotate` found of what those corpora do not mark,
                                                           and keeps some of the messages, which are many and short

Dates, ages, addresses on the net and numbers are no entities to those corpora; left bare they would teach that dates are none.
"""
import json
import random
import re
import sys
from pathlib import Path

LISTS = Path(__file__).resolve().parents[2] / "dictionaries" / "lists"
PEOPLE = {"PER", "person", "politician", "writer", "scientist", "musicalartist", "researcher"}
PLACES = {"LOC", "location", "place", "country"}
ORGANIZATIONS = {"ORG", "corporation", "group", "organization", "organisation", "politicalparty", "university", "band"}
# Left outside of a name, as in clinical notes.
TITLE = re.compile(r"(?:(?:Dr|Mr|Mrs|Ms|Miss|Prof|Sir|Lady|Lord|President|Senator|Professor|Doctor|Captain|Rev|St)\.?\s+)+(?=\w)")
# What is neither marked there nor to be learnt from there as none.
UNMARKED = {"DATE", "AGE", "PHONE", "FAX", "EMAIL", "URL", "IPADDR", "ZIP", "STREET", "PROFESSION", "SSN"}
# Of the corpora that are no articles as many documents are kept, drawn by a seed.
MESSAGES, SEED = 1500, 3
# Articles, which are long and all kept.
ARTICLES = ("wikigold", "gum_open", "crossner")
# Clinical text without labels: so many documents, of those that name no institution.
NAMELESS, LONGEST = 1500, 4000
NAMES_SOMETHING = re.compile(r"\b(?:Dr|Mr|Mrs|Ms|Prof)\b|[Hh]ospital|[Uu]niversit|[Ii]nstitut|[Cc]linic\b|[Cc]ent(?:er|re)\b|School|Department|Foundation|Society")
# Kept close to the word before, and to the word behind.
LEFT = re.compile(r"^(?:[,.;:!?%)\]}]+|'s|n't|'re|'ve|'ll|'d|'m|'S)$")
RIGHT = {"(", "[", "{", "$", "#"}


def entries(name):
    lines = (LISTS / name / "items.txt").read_text(encoding="utf-8").splitlines()
    return {line.split("\t")[0].lower() for line in lines if not line.startswith("#")}


def place(text, lists=[]):
    if not lists:
        names = (("COUNTRY", ("countries-en",)), ("STATE", ("us-states", "world-regions")), ("CITY", ("us-cities", "world-cities", "es-cities")))
        lists.extend((label, set().union(*map(entries, lists_))) for label, lists_ in names)
    return next((label for label, known in lists if text.lower() in known), "LOCATION-OTHER")


def label(mark):
    kind = mark["label"]
    if kind in PEOPLE:
        return "PATIENT"
    if kind in PLACES:
        return place(mark["text"])
    return "ORGANIZATION" if kind in ORGANIZATIONS else None


def joined(document):
    """Text without blanks before punctuation, and where each of its characters stood."""
    text = document["text"]
    keep = [True] * len(text)
    for word in re.finditer(r"\S+", text):
        start, end = word.span()
        if LEFT.match(word.group()) and start and text[start - 1] == " ":
            keep[start - 1] = False
        if word.group() in RIGHT and end < len(text) and text[end] == " ":
            keep[end] = False
    places, out = [], []
    for char, kept in zip(text, keep):
        places.append(len(out))
        if kept:
            out.append(char)
    places.append(len(out))
    return "".join(out), places


def prepare(paths):
    for path in paths:
        for line in open(path, encoding="utf-8"):
            document = json.loads(line)
            text, places = joined(document)
            spans = []
            for mark in document["spans"]:
                name = label(mark)
                start, end = places[mark["start"]], places[mark["end"]]
                while start < end and text[start].isspace():
                    start += 1
                while end > start and text[end - 1].isspace():
                    end -= 1
                if name == "PATIENT" and (title := TITLE.match(text, start, end)):
                    start = title.end()
                if name and start < end:
                    spans.append({"start": start, "end": end, "label": name})
            doc = f"{Path(path).parent.name}-{document['doc_id']}"
            print(json.dumps({"doc_id": doc, "patient_id": doc, "text": text, "spans": spans}, ensure_ascii=False))


def mark(found, prepared):
    articles, messages, nameless = [], [], []
    for said, line in zip(open(found, encoding="utf-8"), open(prepared, encoding="utf-8"), strict=True):
        said, document = json.loads(said), json.loads(line)
        spans = document["spans"]
        for span in said["spans"]:
            free = all(span["end"] <= other["start"] or other["end"] <= span["start"] for other in document["spans"])
            if span["label"] in UNMARKED and free:
                spans.append({key: span[key] for key in ("start", "end", "label")})
        spans.sort(key=lambda span: span["start"])
        line = json.dumps(document, ensure_ascii=False)
        if document["doc_id"].startswith(ARTICLES):
            articles.append(line)
        elif document["doc_id"].startswith("unlabelled"):
            if len(document["text"]) <= LONGEST and not NAMES_SOMETHING.search(document["text"]):
                nameless.append(line)
        # Handles and links of messages are marked by no one, and nothing that a clinic writes.
        elif "http" not in line and "@" not in line:
            messages.append(line)
    random.Random(SEED).shuffle(messages)
    random.Random(SEED).shuffle(nameless)
    print("\n".join(articles + messages[:MESSAGES] + nameless[:NAMELESS]))


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "--marked":
        mark(sys.argv[2], sys.argv[3])
    elif len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
        prepare(sys.argv[1:])
    else:
        sys.exit(__doc__)
