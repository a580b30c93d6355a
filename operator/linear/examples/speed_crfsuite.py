"""Measures python-crfsuite for comparison with `linear --speed`: the tokens per second that its decoder labels on one thread.

speed_crfsuite.py TRAIN.jsonl TEST.jsonl    (pip install python-crfsuite)

It uses simple features that are common in such taggers. Computing them is not measured; converting Python's lists to the
library's own items counts only in the second figure.
"""
import json
import re
import sys
import tempfile
import time

import pycrfsuite


def read(path):
    for line in open(path, encoding="utf-8"):
        document = json.loads(line)
        text = document["text"]
        labels = ["O"] * len(text)
        for span in document["spans"]:
            labels[span["start"]:span["end"]] = [span["label"]] * (span["end"] - span["start"])
            labels[span["start"]] = "B " + span["label"]
        for line_start, line_text in lines(text):
            tokens = [(m.start() + line_start, m.group()) for m in re.finditer(r"\w+|[^\w\s]", line_text)]
            if tokens:
                yield features([word for _, word in tokens]), [labels[at] for at, _ in tokens]


def lines(text):
    at = 0
    for line in text.splitlines(keepends=True):
        yield at, line
        at += len(line)


def features(words):
    def of(i, name):
        if not 0 <= i < len(words):
            return [name + "edge"]
        word = words[i]
        shape = re.sub(r"[a-zà-ÿ]", "x", re.sub(r"[A-ZÀ-Ý]", "X", re.sub(r"\d", "0", word)))
        return [name + word.lower(), name + "s" + shape]

    def own(i):
        word = words[i]
        return [f"{side}{n}={part}" for n in range(1, 5) for side, part in (("p", word[:n]), ("e", word[-n:]))]

    return [["bias", *of(i, "0"), *of(i - 1, "-1"), *of(i - 2, "-2"), *of(i + 1, "1"), *of(i + 2, "2"), *own(i)]
            for i in range(len(words))]


trainer = pycrfsuite.Trainer(verbose=False)
trainer.set_params({"c1": 0.1, "c2": 0.1, "max_iterations": 60})
for items, labels in read(sys.argv[1]):
    trainer.append(items, labels)
with tempfile.NamedTemporaryFile() as model:
    trainer.train(model.name)
    tagger = pycrfsuite.Tagger()
    tagger.open(model.name)
    test = [items for items, _ in read(sys.argv[2])]
    ready = [pycrfsuite.ItemSequence(items) for items in test]
    tokens = sum(map(len, test))

    def rate(sequences):
        best = 1e9
        for _ in range(5):
            start = time.process_time()
            for sequence in sequences:
                tagger.tag(sequence)
            best = min(best, time.process_time() - start)
        return tokens / best / 1000

    print(f"python-crfsuite: {tokens} tokens, decode alone {rate(ready):.0f}k/s, from lists of features {rate(test):.0f}k/s")
