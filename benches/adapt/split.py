#!/usr/bin/env python3
"""Splits a corpus into the stream and the test set.

    split.py CORPUS COUNT STREAM TEST

CORPUS is a folder that holds train.jsonl and dev.jsonl. COUNT documents of train, always the same whatever order the file has,
and all of dev become TEST, the rest of train STREAM.
"""
import hashlib
import json
import pathlib
import sys


def read(path):
    return [line for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]


def main(corpus, count, stream, test):
    place = lambda line: hashlib.sha256(json.loads(line)["doc_id"].encode()).hexdigest()
    train = sorted(read(corpus / "train.jsonl"), key=place)
    for path, lines in ((test, train[:count] + read(corpus / "dev.jsonl")), (stream, train[count:])):
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]), int(sys.argv[2]), pathlib.Path(sys.argv[3]), pathlib.Path(sys.argv[4]))
