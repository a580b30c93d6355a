#!/usr/bin/env python3
"""Creates the payloads in this folder with independent encoders.

    python3 -m venv venv && venv/bin/pip install fastavro grpcio-tools confluent-kafka \\
        httpx attrs cachetools authlib googleapis-common-protos
    venv/bin/python make.py

fastavro writes Avro, protoc and Google's own runtime write Protobuf, and Confluent's own serializer frames the Protobuf
payloads. What is in them is invented.
"""

import io
import json
import pathlib
import subprocess
import sys
import tempfile
import uuid
from datetime import date, datetime, timezone
from decimal import Decimal

import fastavro

HERE = pathlib.Path(__file__).parent
WRITTEN = datetime(2024, 2, 29, 23, 59, 59, 250_999, tzinfo=timezone.utc)
ID = uuid.UUID("2f1c0c3e-8a54-4b0c-9d0f-6a2b7c1d9e10")
TEXT = "Zoë Brandt seen on ward 4.\nMRN 551-20, calm. 😀\n"


def save(name: str, payload: bytes) -> None:
    (HERE / name).write_bytes(payload)


def avro(schema: str, value, id: int | None) -> bytes:
    parsed = fastavro.parse_schema(json.loads((HERE / schema).read_text()))
    out = io.BytesIO()
    fastavro.schemaless_writer(out, parsed, value)
    frame = b"" if id is None else b"\0" + id.to_bytes(4, "big")
    return frame + out.getvalue()


def audit(parent):
    return {
        "trace": ID.bytes,
        "cost": Decimal("12.50"),
        "spans": [0.5, 1.5],
        "flags": {"a": True, "b": None, "c": ID.bytes},
        "parent": parent,
    }


NOTE = {
    "audit": audit(audit(None)),
    "meta": {"id": ID, "version": 3, "written": WRITTEN, "event": "AMEND"},
    "patient": {
        "number": 771,
        "identifiers": [
            {"value": "Zoë Brandt", "source": "adt", "kind": "patient"},
            {"value": 55120, "source": "lab", "kind": "mrn"},
            {"value": ["555-0101", "555-0102"], "source": "", "kind": "phone"},
            {"value": None, "source": "", "kind": "badge"},
        ],
    },
    "note_type": "Progress note",
    "body": TEXT,
}
save("note.avro.bin", avro("note.avsc", NOTE, 7))
DELETED = NOTE | {
    "meta": NOTE["meta"] | {"event": "DELETE", "version": None},
    "patient": None,
    "note_type": None,
    "body": None,
}
save("deleted.avro.bin", avro("note.avsc", DELETED, 7))
KNOWN = {"patient": ["Ola Berg", "O. Berg"], "dob": date(1938, 3, 2), "mrn": "5512"}
save("known.avro.bin", avro("known.avsc", {"note_id": -12, "known": KNOWN, "text": "Stable."}, None))

with tempfile.TemporaryDirectory() as folder:
    protos = ["note.proto", "people.proto"]
    protoc = [sys.executable, "-m", "grpc_tools.protoc", f"-I{HERE}", f"--python_out={folder}"]
    set_out = f"--descriptor_set_out={HERE / 'note.desc'}"
    subprocess.run([*protoc, set_out, "--include_imports", *protos], check=True)
    sys.path.insert(0, folder)
    import note_pb2
    import people_pb2
    from confluent_kafka.schema_registry import SchemaRegistryClient
    from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
    from confluent_kafka.serialization import MessageField, SerializationContext

    def framed(message) -> bytes:
        """As Confluent's serializer writes it. The registry that it asks is in its own memory; ids there begin at 1."""
        client = SchemaRegistryClient.new_client({"url": "mock://"})
        serializer = ProtobufSerializer(type(message), client, {"use.deprecated.format": False})
        return serializer(message, SerializationContext("notes", MessageField.VALUE))

    Note = note_pb2.Envelope.Note
    note = Note(body=TEXT)
    note.meta.id = -12
    note.meta.version = 0
    note.meta.written.FromDatetime(WRITTEN)
    note.meta.event = Note.EVENT_KIND_AMEND
    note.patient.number = 2**64 - 1
    Identifier = people_pb2.Identifier
    note.patient.identifiers.add(value=["Zoë Brandt"], kind=Identifier.KIND_PATIENT, source="adt")
    note.patient.identifiers.add(value=["555-0101", "555-0102"], kind=Identifier.KIND_PHONE)
    note.patient.identifiers.add(value=["B7"])
    note.note_type.value = "Progress note"
    note.scores["a"] = 0.5
    note.inner.add().note.body = "not this one"
    note.scan = b"\xff\xfe"
    save("note.proto.bin", framed(note))
    save("enveloped.proto.bin", framed(note_pb2.Envelope(note=note)))
    deleted = Note()
    deleted.meta.id = 1
    deleted.meta.event = Note.EVENT_KIND_DELETE
    save("deleted.proto.bin", framed(deleted))
    small = note_pb2.Small(note_id=2**63, text="Stable.")
    small.known["patient"] = "Ola Berg"
    small.known["mrn"] = "5512"
    save("small.proto.bin", framed(small))
