"""Whether another library reads what is given back: every sample, closed in each way, by fhir.resources (R4B).

    python3 -m venv venv && venv/bin/pip install fhir.resources
    cargo build -p lethe-format --example close
    venv/bin/python connectors/format/tests/independent/fhir_check.py target/debug/examples/close
"""

import importlib
import json
import pathlib
import subprocess
import sys
import tempfile

SAMPLES = pathlib.Path(__file__).parent.parent / "fhir" / "samples"


def parse(payload):
    """The resource, read by the model of its type."""
    kind = json.loads(payload)["resourceType"]
    module = importlib.import_module(f"fhir.resources.R4B.{kind.lower()}")
    return getattr(module, kind).model_validate_json(payload)


def references(value):
    """Every reference, and every address that it may lead to."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in ("reference", "fullUrl") and isinstance(inner, str):
                yield name, inner
            yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


def dangling(message):
    """References by URN or within a resource that lead nowhere."""
    found = list(references(message))
    there = {address for name, address in found if name == "fullUrl"}
    inner = {f"#{one['id']}" for one in message.get("contained", [])}
    return [to for name, to in found if name == "reference" and to.startswith(("urn:", "#")) and to not in there | inner]


def refuses():
    """Whether the library would notice: a tag is no date, and a document has one."""
    composition = {"resourceType": "Composition", "status": "final", "type": {"text": "x"}, "title": "x",
                   "author": [{"display": "x"}]}
    parse(json.dumps(composition | {"date": "2024"}))
    for wrong in ({}, {"date": "[DATE]"}, {"date": "2024", "id": "[IDNUM]"}):
        try:
            parse(json.dumps(composition | wrong))
        except ValueError:
            continue
        return False
    return True


def replacements(mode, identifiers):
    """What is written for each identifier that is not to become its label in brackets."""
    names = ("Mara", "Jon", "Quinn", "Vale")
    written = {}
    for at, (label, value) in enumerate(identifiers):
        if mode == "same":
            written[value] = value
        elif label == "DATE" and mode in ("surrogates", "years"):
            written[value] = "2019-08-17"[: len(value)] if mode == "surrogates" else value[:4]
        elif mode == "surrogates" and label in ("PATIENT", "DOCTOR"):
            words = range(at, at + len(value.split()))
            written[value] = " ".join(names[word % len(names)] for word in words)
        elif mode == "surrogates" and label in ("MEDICALRECORD", "IDNUM"):
            written[value] = f"S{at:05}"
    return written


def run(close, payload, *arguments):
    done = subprocess.run([close, "fhir", *arguments], input=payload, capture_output=True, check=False)
    if done.returncode:
        raise ValueError(done.stderr.decode())
    return done.stdout


def closed(close, payload, mode):
    """The message as it is given back in one of the ways."""
    told = json.loads(run(close, json.dumps(payload.decode()).encode(), "--lines"))
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(replacements(mode, told["identifiers"]), file)
        file.flush()
        return run(close, payload, file.name)


def main():
    close = sys.argv[1]
    failed = 0 if refuses() else 1
    for sample in sorted(SAMPLES.glob("*.json")):
        payload = sample.read_bytes()
        for mode in ("tags", "surrogates", "years", "same"):
            try:
                message = closed(close, payload, mode)
                parse(message)
                lost = dangling(json.loads(message))
                if lost:
                    raise ValueError(f"references that lead nowhere: {lost}")
                print(f"ok      {sample.name} {mode}")
            except Exception as error:  # whatever the library thinks of it
                failed += 1
                print(f"FAILED  {sample.name} {mode}: {error}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
