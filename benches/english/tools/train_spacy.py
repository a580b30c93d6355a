"""Trains a spaCy pipeline that finds names, places and the rest, for Presidio: `python -m tools.train_spacy OUT TRAIN.jsonl...`.

    --steps N     updates (2,500)
    --words N     words in an update, about (2,000)
    --seed N      seed of weights and order (7)

The pipeline is spaCy's own recipe for a processor, from scratch: a blank English tokenizer, hash embeddings of words, prefixes, suffixes and
shapes, four convolutional layers of width 96, and the transition-based parser of entities. No vectors and no weights are loaded. The number of
updates is fixed, and nothing is chosen on any note: the last state is what is written, into OUT, with a description in OUT/training.json.

TRAIN are documents with i2b2-2014 labels, those that Lethe's English bundles are trained on (benches/english/bundle leaves them as train.jsonl
and auxiliary.jsonl). ENTITIES says what each label is trained as: the names in Presidio's default mapping of entities. Labels that are not
there (professions, for which Presidio has no entity; e-mails, URLs and IP addresses, for which it has patterns) are trained as text.
"""
import argparse
import json
import random
import time
from pathlib import Path

import spacy
from spacy.training import Example
from spacy.util import filter_spans, fix_random_seed
from thinc.api import Adam, warmup_linear

from tools import common

ENTITIES = {
    "PERSON": ("PATIENT", "DOCTOR", "USERNAME"),
    "LOC": ("STREET", "CITY", "STATE", "ZIP", "COUNTRY", "LOCATION-OTHER", "ROOM"),
    "ORG": ("HOSPITAL", "ORGANIZATION", "DEPARTMENT"),
    "DATE": ("DATE",),
    "AGE": ("AGE",),
    "PHONE": ("PHONE", "FAX"),
    "ID": ("SSN", "MEDICALRECORD", "HEALTHPLAN", "ACCOUNT", "LICENSE", "VEHICLE", "DEVICE", "BIOID", "IDNUM"),
}
ENTITY_OF = {label: entity for entity, labels in ENTITIES.items() for label in labels}
WIDTH, DEPTH, WINDOW, HIDDEN = 96, 4, 1, 64
ATTRIBUTES, ROWS = ["NORM", "PREFIX", "SUFFIX", "SHAPE"], [5000, 1000, 2500, 2500]
DROPOUT, LEARN_RATE, WARM_UP = 0.1, 0.002, 100
# Longer documents are cut at a line end: an update is then of several documents, and a long one does not outweigh the rest.
LONGEST = 4000
TOK2VEC = {
    "@architectures": "spacy.Tok2Vec.v2",
    "embed": {"@architectures": "spacy.MultiHashEmbed.v2", "width": WIDTH, "attrs": ATTRIBUTES, "rows": ROWS, "include_static_vectors": False},
    "encode": {"@architectures": "spacy.MaxoutWindowEncoder.v2", "width": WIDTH, "depth": DEPTH, "window_size": WINDOW, "maxout_pieces": 3},
}
PARSER = {
    "@architectures": "spacy.TransitionBasedParser.v2", "state_type": "ner", "extra_state_tokens": False, "hidden_width": HIDDEN, "maxout_pieces": 2,
    "use_upper": True, "nO": None, "tok2vec": TOK2VEC,
}  # fmt: skip


def pieces(document):
    """The document's text and entities, in pieces of at most LONGEST characters where line ends outside of entities allow it."""
    text = document["text"]
    spans = [(span["start"], span["end"], ENTITY_OF[span["label"]]) for span in document["spans"] if span["label"] in ENTITY_OF]
    start = 0
    while start < len(text):
        end = len(text)
        if end - start > LONGEST:
            ends = (at + 1 for at in range(start + LONGEST - 1, start, -1) if text[at] == "\n")
            end = next((at for at in ends if all(at <= first or last <= at for first, last, _ in spans)), end)
        yield text[start:end], [(first - start, last - start, entity) for first, last, entity in spans if start <= first and last <= end]
        start = end


def example(pipeline, text, entities):
    """An example of a text. Entities that end within a token take all of it."""
    doc = pipeline.make_doc(text)
    spans = (doc.char_span(start, end, label=entity, alignment_mode="expand") for start, end, entity in entities)
    reference = doc.copy()
    reference.set_ents(filter_spans(span for span in spans if span is not None and span.text.strip()))
    return Example(doc, reference)


def batches(texts, words, seed):
    """Batches of about so many blank-separated words, over and over, each time in another order."""
    order = random.Random(seed)
    while True:
        shuffled = list(texts)
        order.shuffle(shuffled)
        batch, size = [], 0
        for each in shuffled:
            batch.append(each)
            size += len(each[0].split())
            if size >= words:
                yield batch
                batch, size = [], 0


def train(asked):
    fix_random_seed(asked.seed)
    texts = [piece for path in asked.train for document in common.read(path) for piece in pieces(document)]
    pipeline = spacy.blank("en")
    recognizer = pipeline.add_pipe("ner", config={"model": PARSER, "incorrect_spans_key": None})
    for entity in ENTITIES:
        recognizer.add_label(entity)
    draw = batches(texts, asked.words, asked.seed)
    pipeline.initialize(lambda: [example(pipeline, *each) for each in next(draw)])
    optimizer = Adam(warmup_linear(LEARN_RATE, WARM_UP, asked.steps), L2=0.01, L2_is_weight_decay=True, grad_clip=1.0)
    began, seen = time.process_time(), 0
    for step in range(1, asked.steps + 1):
        batch = [example(pipeline, *each) for each in next(draw)]
        losses = pipeline.update(batch, drop=DROPOUT, sgd=optimizer)
        optimizer.step_schedules()
        seen += sum(len(each.predicted) for each in batch)
        if step % 100 == 0:
            print(f"step {step} of {asked.steps}: loss {losses['ner']:.0f}, {time.process_time() - began:.0f} s of processor time", flush=True)
    pipeline.to_disk(asked.out)
    size = sum(file.stat().st_size for file in Path(asked.out).rglob("*") if file.is_file())
    weights = sum(node.get_param(name).size for node in recognizer.model.walk() for name in node.param_names if node.has_param(name))
    described = {
        "spacy": spacy.__version__,
        "architecture": f"hash embeddings ({', '.join(f'{rows:,} of {name}' for name, rows in zip(ATTRIBUTES, ROWS))}) of width {WIDTH}, "
        f"{DEPTH} convolutional layers, a transition-based parser of width {HIDDEN}",
        "optimizer": f"Adam, dropout {DROPOUT}, learning rate rising to {LEARN_RATE} in {WARM_UP} updates and falling to 0",
        "entities": ENTITIES,
        "documents": {Path(path).name: len(common.read(path)) for path in asked.train},
        "steps": asked.steps,
        "words": asked.words,
        "tokens": seen,
        "passes": round(seen / sum(len(pipeline.make_doc(text)) for text, _ in texts), 2),
        "seed": asked.seed,
        "bytes": size,
        "weights": weights,
        "seconds": round(time.process_time() - began),
        "peak_kilobytes": common.peak_kilobytes(),
    }
    (Path(asked.out) / "training.json").write_text(json.dumps(described, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("train", nargs="+")
    parser.add_argument("--steps", type=int, default=2500)
    parser.add_argument("--words", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=7)
    train(parser.parse_args())
