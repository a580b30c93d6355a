"""Reads Lethe's output with independent parsers: `hl7apy` and `hl7` for HL7 v2, the strict models of `fhir.resources` for FHIR.

    python parse.py < LINES

Each line is a JSON object `{"format", "kind", "message"}`. Prints each failure, then the number of messages read per format.
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


MASKED = {"extension": [{"url": "http://hl7.org/fhir/StructureDefinition/data-absent-reason", "valueCode": "masked"}]}
# The elements of a choice type.
STAND_INS = {"String": "x", "Markdown": "x", "Code": "x", "Uri": "urn:x", "Url": "urn:x", "Canonical": "urn:x", "DateTime": "2000",
             "Date": "2000", "Instant": "2000-01-01T00:00:00Z", "Time": "00:00:00", "Boolean": True, "PositiveInt": 1, "Integer": 1,
             "UnsignedInt": 1, "Decimal": 1, "Base64Binary": "eA=="}


def with_choices(value):
    """Returns the resource with values for masked choices. A choice may have an extension for its value (FHIR R4, section 2.6.2), which
    the models accept of other required elements but not of these."""
    if isinstance(value, list):
        return [with_choices(one) for one in value]
    if not isinstance(value, dict):
        return value
    value = {name: with_choices(one) for name, one in value.items()}
    for name in [name for name, one in value.items() if name.startswith("_") and one == MASKED]:
        kind = max((kind for kind in STAND_INS if name.lower().endswith(kind.lower())), key=len, default=None)
        if kind:
            value.setdefault(name[1:], STAND_INS[kind])
    return value


def read_fhir(line):
    resource = json.loads(line["message"])
    kind = resource["resourceType"]
    if kind != line["kind"].split(" ")[0]:
        raise ValueError(f"the type is {kind}")
    module = importlib.import_module(f"fhir.resources.R4B.{kind.lower()}")
    getattr(module, kind).model_validate(with_choices(resource))
    labels = [one["code"] for one in every(resource) if one.get("system", "").endswith("v3-ObservationValue")]
    if "PSEUDED" not in labels:
        raise ValueError("no security label")


def every(value):
    """Returns each coding of security labels."""
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
