"""A second opinion on closed HL7 v2 messages: what Python's `hl7` package reads in them.

    python -m venv VENV && VENV/bin/pip install hl7
    cargo build -p lethe-format --example close
    VENV/bin/python connectors/format/tests/independent/hl7_check.py target/debug/examples/close

Messages are made here, from invented people, with the awkward parts in them; each is closed by the example with
supplied replacements and with labels, and parsed by the package. Every check that fails is printed; the exit status is
their number.
"""

import base64
import json
import random
import subprocess
import sys
import tempfile

import hl7

NARRATIVE = [
    "Seen today with her daughter.",
    "BP 120|80 & pulse 60^, ratio 1~2, path C:\\temp\\x",
    "Zeile mit Umlauten: Größe, Ñandú, œuvre",
    "first line\nsecond line",
    "",
    "\\.br\\ is not a line break here, nor is \\F\\ a bar",
]
PEOPLE = [
    ("Okafor", "Ada", "Ngozi", "Jr"),
    ("de la Cruz", "Inés", "", ""),
    ("O'Neill-Prado", "Mary Ann", "K.", ""),
    ("Prado", "", "", ""),
]
STRUCTURE = {"MSH", "EVN", "PID", "NK1", "PV1", "TXA", "ORC", "OBR", "OBX", "NTE", "IN1", "AL1"}


def escape(text, separators):
    """Text as a leaf, written here independently of the package and of what is checked."""
    field, component, repetition, escape_char, sub = separators
    codes = {field: "F", component: "S", repetition: "R", escape_char: "E", sub: "T"}
    out = []
    for c in text:
        if c in codes:
            out.append(escape_char + codes[c] + escape_char)
        elif c == "\n":
            out.append(escape_char + ".br" + escape_char)
        else:
            out.append(c)
    return "".join(out)


def segment(name, fields, separators):
    last = max(fields)
    return separators[0].join([name] + [fields.get(n, "") for n in range(1, last + 1)])


def message(rng, number):
    """A message, the texts of its OBX-5 in their order, and what must not be in it once it is closed."""
    separators = rng.choice(["|^~\\&", "|^~\\&", "$%*?!"])
    e = lambda text: escape(text, separators)
    c, r, s = separators[1], separators[2], separators[4]
    family, given, second, suffix = rng.choice(PEOPLE)
    doctor, doctor_given = rng.choice([("Weber", "Karl"), ("van Houten", "Liesbeth")])
    mrn, visit, ssn = (str(rng.randrange(10**7, 10**8)) for _ in range(3))
    birth = f"{rng.randrange(1920, 2010)}{rng.randrange(1, 13):02}{rng.randrange(1, 29):02}"
    phone = f"({rng.randrange(200, 999)})555-01{rng.randrange(100):02}"
    secret = {"mrn": mrn, "visit": visit, "ssn": ssn, "birth": birth, "phone": phone, "family": family,
              "doctor": doctor, "street": "Quarrystone Lane", "z": "ZSEGMENTSECRET", "scan": "SUkqAAgAAAA="}
    name = c.join([e(family), e(given), e(second), e(suffix), "Mrs", "MD", "L"])
    xcn = c.join(["9911", e(doctor), e(doctor_given)])
    head = ["MSH", separators[1:], "SCRIBE", "NORTHGATE", "STORE", "SOUTHGATE", "20240501083000+0200", "",
            rng.choice([c.join(["ORU", "R01"]), c.join(["MDM", "T02", "MDM_T02"])]), f"CTRL{number}", "P", "2.5.1"]
    lines = [separators[0].join(head)]
    add = lambda name, fields: lines.append(segment(name, fields, separators))
    add("EVN", {1: "T02", 2: "20240501"})
    add("PID", {1: "1", 3: c.join([mrn, "7", "M10", s.join(["NORTH", "1.2.3", "ISO"]), "MR"]),
                5: r.join([name, c.join([e(family), "Nena"])]), 7: birth, 8: "F", 10: "2106-3",
                11: c.join([s.join(["12 Quarrystone Lane", "Quarrystone Lane", "12"]), "Apt 4", "Dayton", "OH", "45402"]),
                13: c.join([phone, "PRN", "PH"]), 18: c.join(["ACC77123", "", "", "", "AN"]), 19: ssn,
                22: "Free text on " + e(family)})
    add("NK1", {1: "1", 2: c.join([e(family), "Tomas"]), 3: c.join(["SPO", "Spouse", "HL70063"])})
    add("PV1", {1: "1", 2: "I", 3: c.join(["4W", "412", "B", "NORTH"]), 7: xcn, 19: visit, 44: "20240430"})
    add("ORC", {1: "RE", 12: xcn})
    add("OBR", {1: "1", 3: "FILL8812", 4: c.join(["11506-3", "Note", "LN"]), 7: "202404301200", 16: xcn, 25: "F"})
    texts = []
    for n in range(rng.randrange(1, 5)):
        lines_of_it = [rng.choice(NARRATIVE) for _ in range(rng.randrange(1, 4))] + [f"about {family}"]
        texts.append(lines_of_it)
        add("OBX", {1: str(n + 1), 2: rng.choice(["TX", "FT", "ST"]), 3: c.join(["11506-3", "Note", "LN"]), 4: str(n),
                    5: r.join(e(line) for line in lines_of_it), 11: "F", 14: "20240430", 16: xcn})
    attachment = f"Attached, {family}.\r\nGröße."
    add("OBX", {1: "8", 2: "ED", 3: "ATT", 5: c.join(
        ["", "TEXT", "plain", "Base64", base64.b64encode(attachment.encode()).decode()]), 11: "F"})
    add("OBX", {1: "9", 2: "ED", 3: "SCAN", 5: c.join(["", "IM", "TIFF", "Base64", secret["scan"]]), 11: "F"})
    add("NTE", {1: "1", 3: e("Comment on " + family)})
    add("IN1", {1: "1", 4: "Sun Mutual", 16: c.join([e(family), "Tomas"]), 36: "POL991"})
    add("AL1", {1: "1", 3: c.join(["70618", "Penicillin", "RXNORM"]), 5: "rash seen by " + e(doctor)})
    add("ZPI", {1: secret["z"]})
    return "\r".join(lines) + "\r", texts, attachment, secret, (family, doctor)


def run(program, messages, replacements):
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        json.dump(replacements, file)
        file.flush()
        out = subprocess.run([program, "hl7v2", "--lines", file.name], check=True, stdout=subprocess.PIPE,
                             input="".join(json.dumps(one) + "\n" for one in messages).encode())
    return [json.loads(line) for line in out.stdout.decode().splitlines()]


def leaf(parsed, field):
    """A field's repetitions as the package unescapes them. A line break is a carriage return to it."""
    return [hl7.Message.unescape(parsed, str(one)).replace("\r", "\n") for one in field]


def check(closed, original, texts, attachment, secret, people, replaced, fail):
    parsed = hl7.parse(closed)
    names = [str(one[0]) for one in parsed]
    if not set(names) <= STRUCTURE:
        fail("a segment that is not in the table came back")
    for what, value in secret.items():
        if value in closed:
            fail(f"{what} is in the closed message")
    before = hl7.parse(original)
    if [one for one in names if one == "OBX"] != ["OBX"] * len(before.segments("OBX")):
        fail("an OBX is lost")
    for path in ["MSH.F9", "MSH.F12", "PID.F8", "PV1.F2", "OBR.F4", "OBR.F25", "AL1.F3", "NK1.F3"]:
        name, number = path.split(".F")
        if str(parsed.segment(name)[int(number)]) != str(before.segment(name)[int(number)]):
            fail(f"{name}-{number} is not as it was")
    family, doctor = people
    pid = parsed.segment("PID")
    if len(pid[5]) != 2:
        fail("PID-5 has not its two repetitions")
    first = parsed.unescape(str(pid[5][0][0]))
    if first != (replaced[0] if replaced else "[PATIENT]"):
        fail(f"the family name is {first!r}")
    for index, obx in enumerate(parsed.segments("OBX")):
        was = before.segments("OBX")[index]
        if any(str(obx[n]) != str(was[n]) for n in (1, 2, 3, 11)):
            fail(f"OBX {index + 1} is another")
        if index < len(texts):
            expected = [line.replace(family, replaced[0]) if replaced else line for line in texts[index]]
            if replaced and leaf(parsed, obx[5]) != expected:
                fail(f"OBX-5 is {leaf(parsed, obx[5])!r}, not {expected!r}")
    data = base64.b64decode(str(parsed.segments("OBX")[len(texts)][5][0][4])).decode()
    if replaced and data != attachment.replace(family, replaced[0]):
        fail("the attachment is another")
    if str(parsed.segments("OBX")[len(texts) + 1][5]):
        fail("the PDF is back")


def main():
    program, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 300
    rng = random.Random(7)
    made = [message(rng, number) for number in range(count)]
    failures = 0

    def fail_of(number, way):
        def fail(words):
            nonlocal failures
            failures += 1
            print(f"message {number}, {way}: {words}")
        return fail

    # With labels: the narrative as it was, and names of people in it taken out beforehand.
    blank = {name: "X" for person in PEOPLE for name in person[:1]} | {"Weber": "X", "van Houten": "X"}
    for number, (original, result) in enumerate(zip(made, run(program, [one[0] for one in made], blank))):
        if "error" in result:
            fail_of(number, "labels")(result["error"])
            continue
        message_, texts, attachment, secret, people = original
        # A person with a family name alone is in the file of replacements.
        alone = people[0] in [value for _, value in result["identifiers"]]
        check(result["closed"], message_, texts, attachment, secret, people, ("X",) if alone else None,
              fail_of(number, "labels"))

    # With surrogates: the same for a name in PID-5 and in the narrative.
    for number, (message_, texts, attachment, secret, people) in enumerate(made):
        family = people[0]
        surrogate = {"de la Cruz": "del Rio Seco", "O'Neill-Prado": "Ng-Abara"}.get(family, "Lindqvist")
        opened = run(program, [message_], {})[0]
        if number >= 60:
            break
        replacements = {family: surrogate, people[1]: "Hollis"}
        for label, value in opened["identifiers"]:
            if family in value:
                replacements[value] = value.replace(family, surrogate)
            elif people[1] in value:
                replacements[value] = "Mo Hollis"
        result = run(program, [message_], replacements)[0]
        check(result["closed"], message_, texts, attachment, secret, people, (surrogate,),
              fail_of(number, "surrogates"))
    print(f"{count} messages closed with labels, {min(count, 60)} with surrogates: {failures} failures")
    return min(failures, 100)


if __name__ == "__main__":
    sys.exit(main())
