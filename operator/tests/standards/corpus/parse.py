"""Reads what comes out with parsers that are not ours: `hl7apy` and `hl7` for HL7 v2, the strict models of `fhir.resources` for FHIR.

    python parse.py < LINES

Each line is a JSON object `{"format", "kind", "message"}`. Prints each failure, then how many messages of each format were read.
"""

import collections
import importlib
import json
import sys

import hl7
from hl7apy.consts import VALIDATION_LEVEL
from hl7apy.parser import parse_message


def read_hl7v2(line):
    text = line["message"]
    parsed = parse_message(text, validation_level=VALIDATION_LEVEL.TOLERANT, find_groups=True)
    names = [one[:3] for one in text.split("\r") if one]
    if [str(one[0]) for one in hl7.parse(text)] != names:
        raise ValueError("hl7 reads other segments")
    if parsed.msh.msh_9.value.split("^")[:2] != line["kind"].split("^"):
        raise ValueError(f"the type is {parsed.msh.msh_9.value}")
    if sorted(one.name for one in segments(parsed)) != sorted(names):
        raise ValueError("hl7apy reads other segments")


def segments(parsed):
    for child in parsed.children:
        if child.classname == "Segment":
            yield child
        else:
            yield from segments(child)


def read_fhir(line):
    resource = json.loads(line["message"])
    kind = resource["resourceType"]
    if kind != line["kind"].split(" ")[0]:
        raise ValueError(f"the type is {kind}")
    module = importlib.import_module(f"fhir.resources.R4B.{kind.lower()}")
    getattr(module, kind).model_validate_json(line["message"])
    labels = [one["code"] for one in every(resource) if one.get("system", "").endswith("v3-ObservationValue")]
    if "PSEUDED" not in labels:
        raise ValueError("no security label")


def every(value):
    """Each coding of security labels."""
    if isinstance(value, dict):
        yield from (value.get("meta") or {}).get("security", [])
        for inner in value.values():
            yield from every(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from every(inner)


READERS = {"hl7v2": read_hl7v2, "fhir": read_fhir}


def main():
    read, failed = collections.Counter(), 0
    for line in map(json.loads, sys.stdin):
        try:
            READERS[line["format"]](line)
            read[line["format"]] += 1
        except Exception as error:  # whatever the library raises
            failed += 1
            print(f"FAILED {line['kind']}: {type(error).__name__}: {str(error)[:300]}")
    print(json.dumps({"failed": failed, **read}, sort_keys=True))


if __name__ == "__main__":
    main()
