"""Writes the corpus: one JSON object per line, `{"format", "kind", "version", "payload", "gold"}`. The same seed gives the same bytes.

    python generate.py [SEED]

`gold` lists the narratives as pieces in order, each with whether it identifies somebody; null without narrative.
"""

import json
import random
import sys

import hl7v2
import resources


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    out = lambda **line: sys.stdout.write(json.dumps(line) + "\n")
    for kind, version, text in hl7v2.messages(random.Random(seed), 2):
        out(format="hl7v2", kind=kind, version=version, payload=text, gold=None)
    for kind, resource, gold in resources.all_of(random.Random(seed + 1), 3):
        out(format="fhir", kind=kind, version="4.3.0", payload=json.dumps(resource), gold=gold)


if __name__ == "__main__":
    main()
