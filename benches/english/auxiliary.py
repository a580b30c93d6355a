#!/usr/bin/env python3
"""Texts whose people, places and organisations were marked by people (Wikigold, WNUT 17, BTC, GUM, CrossNER, LitBank), dialogues in which
people book an appointment (SGD), and texts that name nobody (NCBI disease, MedQuAD, PubMedQA, TREC patients, trial criteria), as gold for
the English bundle.

    auxiliary.py CORPUS.jsonl... > prepared.jsonl          blanks before punctuation taken out, labels of i2b2-2014
    auxiliary.py --marked FOUND.jsonl PREPARED.jsonl PART  adds what `lethe annotate` found of what those corpora do not mark,
                                                           and keeps some of the messages, which are many and short; PART is
                                                           `train`, or `choose` for the abstracts that votes are chosen on

Dates, ages, addresses on the net and numbers are no entities to those corpora; left bare they would teach that dates are none.
"""
import json
import random
import re
import sys
from pathlib import Path

LISTS = Path(__file__).resolve().parents[2] / "dictionaries" / "lists"
PEOPLE = {"PER", "person", "politician", "writer", "scientist", "musicalartist", "researcher"}
PLACES = {"LOC", "GPE", "FAC", "location", "place", "country"}
ORGANIZATIONS = {"ORG", "corporation", "group", "organization", "organisation", "politicalparty", "university", "band"}
# Left outside of a name, as in clinical notes.
TITLE = re.compile(
    r"(?:(?i:Dr|Mr|Mrs|Ms|Miss|Mme|Mlle|Madam|Madame|Monsieur|Prof|Professor|Doctor|Sir|Dame|Lady|Lord|President|Senator|Sen|Rep|Congressman"
    r"|Congresswoman|Governor|Gov|Minister|Secretary|Ambassador|Mayor|Judge|Justice|Captain|Capt|General|Gen|Colonel|Col|Major|Maj"
    r"|Lieutenant|Lt|Sergeant|Sgt|Corporal|Cpl|Private|Pvt|Admiral|Detective|Inspector|Officer|Nurse|Sister|Brother|Father|Mother"
    r"|Reverend|Rev|Pastor|Rabbi|Imam|Pope|Bishop|King|Queen|Prince|Princess|Emperor|Empress|Duke|Duchess|Count|Countess|Earl|Baron"
    r"|Uncle|Aunt|Aunty|Auntie|Cousin|Squire|Master|Mistress|Coach|Hon|St)\.?\s+)+(?=\w|$)"
)
# What is neither marked there nor to be learnt from there as none.
UNMARKED = {"DATE", "AGE", "PHONE", "FAX", "EMAIL", "URL", "IPADDR", "ZIP", "STREET", "PROFESSION", "SSN"}
# Of the corpora that are no articles as many documents are kept, drawn by a seed.
MESSAGES, SEED = 1500, 3
# Articles, which are long and all kept.
ARTICLES = ("wikigold", "gum_open", "crossner", "litbank", "sgd_customer")
# Clinical text without labels: so many documents, of those that name no institution and no place.
NAMELESS, LONGEST = 1500, 4000
# Abstracts that votes are chosen on, and how often each is repeated.
CHOSEN, COPIES = 100, 5
# Labels that are the project's own.
GIVEN = {"DOCTOR", "HOSPITAL", "CITY", "STREET", "PHONE", "DATE", "LOCATION-OTHER"}
PLACE_LABELS = {"CITY", "STATE", "COUNTRY", "HOSPITAL", "ORGANIZATION"}
# What is measured on is set aside: the first 300 abstracts, the last 500 dialogues.
SET_ASIDE = {"unlabelled_pubmedqa": slice(300, None), "sgd_customer": slice(1000)}
# Dialogues in which a doctor or a dentist is looked for: the only ones whose people are all marked. Some of those marks are of practices.
APPOINTMENTS = ("Services_2", "Services_3")
PRACTICE = re.compile(
    r"\b(?:dent|orthodont|endodont|periodont|derma|ophthalm|optomet|gyn|pediatr|laborator|lab\b|care\b|health|clinic|cent(?:er|re)|institute|associates"
    r"|physicians|family|spa\b|smile|skin|group|arts\b|aesthetic|concierge|ceramic|retina|eye\b|ent\b|miracles|inc\b|medical|practice|office)",
    re.IGNORECASE,
)
JOINT = re.compile(r"\s*[:/,]\s*|\s+-\s+|\s+and\s+(?=[A-Z])")
DEGREE = re.compile(r"[\s,]+(?:M\.?D|D\.?O|O\.?D|D\.?D\.?S|D\.?M\.?D|P\.?A(?:-C)?|M\.?S\.?D|FA(?:CS|AD|AP|COG)|MPH|Ph\.?D|Inc)\b\.?", re.IGNORECASE)
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


def ordinary(words=[]):
    """English words that are in no list of names. Some corpora mark "the Petitioner" as a person."""
    if not words:
        names = (each.name for each in LISTS.glob("*names*") if "given" in each.name or "surnames" in each.name)
        parts = {part for name in names for entry in entries(name) for part in re.findall(r"\w+", entry)}
        words.append(entries("english-words") - parts)
    return words[0]


def label(mark):
    kind = mark["label"]
    if kind in PEOPLE:
        return None if all(word.lower() in ordinary() for word in re.findall(r"\w+", mark["text"])) else "PATIENT"
    if kind in PLACES:
        return place(mark["text"])
    if kind in GIVEN:
        return kind
    return "ORGANIZATION" if kind in ORGANIZATIONS else None


def provider(mark, text):
    """Marks of the people and the practices in what a dialogue gives as a provider: "Elm Dental: Dr. Ann Quayle, DDS"."""
    whole = text[mark["start"] : mark["end"]]
    outside = sorted(each.span() for pattern in (DEGREE, JOINT) for each in pattern.finditer(whole))
    start = 0
    for left, right in [*outside, (len(whole), len(whole))]:
        piece = whole[start:left]
        title = TITLE.match(piece)
        begin = start + (title.end() if title else 0)
        if left - begin > 2:
            kind = "HOSPITAL" if PRACTICE.search(piece) else "DOCTOR"
            yield {"start": mark["start"] + begin, "end": mark["start"] + left, "label": kind}
        start = max(start, right)


def marks_of(corpus, document):
    for mark in document["spans"]:
        if corpus == "sgd_customer" and mark["label"] == "DOCTOR":
            yield from provider(mark, document["text"])
        else:
            yield mark


def read(path):
    """The documents of a file that are trained on, with the name of their corpus."""
    corpus = Path(path).parent.name
    for line in Path(path).read_text(encoding="utf-8").rstrip("\n").split("\n")[SET_ASIDE.get(corpus, slice(None))]:
        document = json.loads(line)
        if corpus != "sgd_customer" or any(mark.get("slot", "").startswith(APPOINTMENTS) for mark in document["spans"]):
            yield corpus, document


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
        for corpus, document in read(path):
            text, places = joined(document)
            spans = []
            for mark in marks_of(corpus, document):
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
            doc = f"{corpus}-{document['doc_id']}"
            print(json.dumps({"doc_id": doc, "patient_id": doc, "text": text, "spans": spans}, ensure_ascii=False))


def mark(found, prepared, part):
    articles, messages, nameless, abstracts = [], [], [], []
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
            places = any(span["label"] in PLACE_LABELS for span in said["spans"])
            if len(document["text"]) <= LONGEST and not NAMES_SOMETHING.search(document["text"]) and not places:
                (abstracts if document["doc_id"].startswith("unlabelled_pubmedqa") else nameless).append(line)
        # Handles and links of messages are marked by no one, and nothing that a clinic writes.
        elif "http" not in line and "@" not in line:
            messages.append(line)
    random.Random(SEED).shuffle(messages)
    random.Random(SEED).shuffle(nameless)
    random.Random(SEED).shuffle(abstracts)
    if part == "train":
        print("\n".join(articles + messages[:MESSAGES] + abstracts[CHOSEN:] + nameless[:NAMELESS]))
        return
    for document in map(json.loads, abstracts[:CHOSEN]):
        for copy in range(COPIES):
            print(json.dumps(document | {"doc_id": f"{document['doc_id']}-{copy}"}, ensure_ascii=False))


if __name__ == "__main__":
    if len(sys.argv) == 5 and sys.argv[1] == "--marked":
        mark(*sys.argv[2:])
    elif len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
        prepare(sys.argv[1:])
    else:
        sys.exit(__doc__)
