"""Hostile records for benches/hostile-notes, and ordinary ones of the same formats."""
import base64
import json
import zlib
from dataclasses import dataclass
from typing import Callable

WORDS = "patient seen in clinic today with mild cough and no fever the lungs were clear plan is to follow up in two weeks".split()
# The text of each record of a batch of many.
SMALL = 8_000
DIV = '<div xmlns=\\"http://www.w3.org/1999/xhtml\\">'
MSH = "MSH|^~\\&|LAB|MERCY|EHR|MERCY|20240502083000||ORU^R01^ORU_R01|M1|P|2.5.1\rPID|1||10000001^^^MERCY^MR||Quillfeather^Ada\rOBR|1||5|18842-5^Note^LN\r"


def repeated(piece):
    return lambda _draw, size: piece * (size // len(piece))


def prose(draw, size):
    return " ".join(draw.choice(WORDS) for _ in range(size // 5))


def markup(_draw, size):
    depth = size // 11
    return "<div>" * depth + "Seen." + "</div>" * depth


def numbers(draw, size):
    return ",".join(str(draw.randrange(10**6)) for _ in range(size // 7))


def names(draw, size):
    return "".join(f"Dr. Quill{draw.randrange(10**5)} Voss, MRN {draw.randrange(10**8)}; " for _ in range(size // 34))


TEXTS = {
    "stops": repeated("."),
    "token": repeated("x"),
    "base64": lambda draw, size: base64.b64encode(draw.randbytes(size * 3 // 4)).decode(),
    "csv": numbers,
    "names": names,
    "brackets": repeated("([{"),
    "newlines": repeated("\n"),
    "markup": markup,
    "prose": prose,
}


def note(text):
    return json.dumps({"note_id": "hostile", "text": text}, ensure_ascii=False)


def small_notes(draw, size):
    """Many notes of one batch, each of digits that differ."""
    return [note(numbers(draw, SMALL)) for _ in range(size // SMALL)]


def small_stops(_draw, size):
    """Many notes of one batch that arrives as a few kilobytes."""
    return [note("." * SMALL)] * (size // SMALL)


def message(segments):
    return MSH + "".join(segments)


def subcomponents(_draw, size):
    return [message(["OBX|1|TX|18842-5^Note^LN||" + "&" * size + "\r"])]


def observations(draw, size):
    return [message(f"OBX|{i}|NM|2345-7^Glucose^LN||{draw.randrange(10**4)}||||||F\r" for i in range(size // 48))]


def long_field(draw, size):
    return [message(["OBX|1|TX|18842-5^Note^LN||" + prose(draw, size) + "||||||F\r"])]


def document(text):
    body = f"<structuredBody><component><section><text>{text}</text></section></component></structuredBody>"
    return f'<ClinicalDocument xmlns="urn:hl7-org:v3"><id root="1.2"/><component>{body}</component></ClinicalDocument>'


def nested_lists(_draw, size):
    depth = size // 26
    return [document("<list><item>" * depth + "Seen." + "</item></list>" * depth)]


def cells(draw, size):
    row = lambda: f"<tr><td>{draw.randrange(10**6)}</td><td>a</td></tr>"  # noqa: E731
    return [document("<table><tbody>" + "".join(row() for _ in range(size // 33)) + "</tbody></table>")]


def composition(div):
    return (
        '{"resourceType":"Composition","id":"c1","status":"final","title":"Note","type":{"text":"Note"},'
        f'"section":[{{"text":{{"status":"additional","div":"{DIV}{div}</div>"}}}}]}}'
    )


def nested_divs(_draw, size):
    depth = size // 11
    return [composition("<div>" * depth + "Seen." + "</div>" * depth)]


def nested_json(_draw, size):
    depth = size // 35
    return ['{"resourceType":"Observation","id":"o1","status":"final"' + ',"contained":[{"resourceType":"Basic"' * depth + "}]" * depth + "}"]


def entries(_draw, size):
    """A bundle of small resources that refer to patients: the most values a byte that a message of many may have."""
    entry = (
        '{{"fullUrl":"urn:uuid:{i}","resource":{{"resourceType":"Observation","id":"o{i}","status":"final",'
        '"subject":{{"reference":"Patient/p{half}"}}}}}}'
    )
    some = ",".join(entry.format(i=i, half=i // 2) for i in range(size // 140))
    return ['{"resourceType":"Bundle","id":"b1","type":"collection","entry":[' + some + "]}"]


def attachment(content_type, data):
    return json.dumps(
        {
            "resourceType": "DocumentReference",
            "id": "d1",
            "status": "current",
            "content": [{"attachment": {"contentType": content_type, "data": base64.b64encode(data).decode()}}],
        }
    )


def attached(draw, size):
    return [attachment("text/plain", numbers(draw, size * 3 // 4).encode())]


def pdf(objects):
    """A PDF file of these objects, numbered from 1, the first of them the catalog."""
    out, places = b"%PDF-1.7\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    return out + b"xref\n0 %d\n0000000000 65535 f \n%btrailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, table, size, len(out))


def pdf_page(content):
    packed = zlib.compress(content, 9)
    return pdf(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 5 0 R /Resources << /Font << /F 3 0 R >> >> >>",
            b"<< /Length %d /Filter /FlateDecode >>\nstream\n%b\nendstream" % (len(packed), packed),
        ]
    )


def pdf_blanks(_draw, size):
    """A page of this size when it is decompressed, which says nothing."""
    return [attachment("application/pdf", pdf_page(b" " * size))]


def pdf_letters(_draw, size):
    """A page of this size when it is decompressed, each operator of which shows a letter."""
    return [attachment("application/pdf", pdf_page(b"BT /F 1 Tf\n" + b"1 0 Td(a)Tj\n" * (size // 12) + b"ET"))]


@dataclass
class Kind:
    """A kind of bad records: their format, how a list of them is made of so many bytes, and whether they are one batch."""

    format: str
    make: Callable
    one_batch: bool = False


KINDS = {name: Kind("json", lambda draw, size, text=text: [note(text(draw, size))]) for name, text in TEXTS.items()} | {
    "batch-of-stops": Kind("json", small_stops, one_batch=True),
    "batch-of-csv": Kind("json", small_notes, one_batch=True),
    "hl7v2-subcomponents": Kind("hl7v2", subcomponents),
    "hl7v2-observations": Kind("hl7v2", observations),
    "hl7v2-prose": Kind("hl7v2", long_field),
    "cda-lists": Kind("cda", nested_lists),
    "cda-cells": Kind("cda", cells),
    "fhir-divs": Kind("fhir", nested_divs),
    "fhir-json": Kind("fhir", nested_json),
    "fhir-entries": Kind("fhir", entries),
    "fhir-attachment": Kind("fhir", attached),
    "fhir-pdf-blanks": Kind("fhir", pdf_blanks),
    "fhir-pdf-letters": Kind("fhir", pdf_letters),
}

# An ordinary record of some text, by format.
ORDINARY = {
    "json": note,
    "hl7v2": lambda text: message([f"OBX|1|TX|18842-5^Note^LN||{text}||||||F\r"]),
    "cda": document,
    "fhir": lambda text: composition(f"<p>{text}</p>"),
}


def ordinary(draw, form, count):
    """So many ordinary records of 3 KB, from two hundred different ones."""
    some = [ORDINARY[form](prose(draw, 3_000)) for _ in range(200)]
    return [some[i % len(some)] for i in range(count)]
