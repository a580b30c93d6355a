"""HL7 v2 messages from the message structures, segments, data types and tables of `hl7apy`, for versions 2.3 to 2.6.

Every required segment, field and component has a value, and each optional one with some probability. DSC, ADD and MSH-14
are left out, since they mark the message as a fragment.
"""

import importlib

import invent

VERSIONS = ["2.3", "2.3.1", "2.4", "2.5", "2.5.1", "2.6"]
# Trigger events by structure (HL7 v2.5.1, appendix A, table 0354).
EVENTS = """ADT_A01:A01,A04,A08,A13 ADT_A02:A02 ADT_A03:A03 ADT_A05:A05,A14,A28,A31 ADT_A06:A06,A07 ADT_A09:A09,A10,A11
ADT_A12:A12 ADT_A15:A15 ADT_A16:A16 ADT_A17:A17 ADT_A18:A18 ADT_A20:A20 ADT_A21:A21,A22,A23,A25,A26,A27,A29 ADT_A24:A24 ADT_A30:A34
ADT_A37:A37 ADT_A38:A38 ADT_A39:A39,A40,A41,A42 ADT_A43:A43 ADT_A45:A45 ADT_A50:A50,A51 ADT_A54:A54 ADT_A60:A60 ADT_A61:A61,A62
BAR_P01:P01 BAR_P02:P02 BAR_P05:P05 BAR_P06:P06 BAR_P10:P10 BAR_P12:P12 DFT_P03:P03 DFT_P11:P11
MDM_T01:T01,T03,T05,T07,T09,T11 MDM_T02:T02,T04,T06,T08,T10
ORM_O01:O01 ORR_O02:O02 OMG_O19:O19 OMI_O23:O23 OML_O21:O21 OML_O33:O33 OML_O35:O35 OMP_O09:O09 OMS_O05:O05 OMD_O03:O03 OMN_O07:O07
OMB_O27:O27 ORL_O22:O22 ORL_O34:O34 ORG_O20:O20 ORP_O10:O10 ORU_R01:R01 ORU_R30:R30,R31,R32
OUL_R21:R21 OUL_R22:R22 OUL_R23:R23 OUL_R24:R24 RDE_O11:O11,O25 RDS_O13:O13 RGV_O15:O15 RAS_O17:O17 RRE_O12:O12 RRA_O18:O18 RRD_O14:O14
SIU_S12:S12,S13,S14,S15,S16,S17,S18,S19,S20,S21,S22,S23,S24,S26 SRM_S01:S01,S02,S03,S04 SRR_S01:S01
VXU_V04:V04 VXQ_V01:V01 REF_I12:I12,I13,I14,I15 RRI_I12:I12 PPR_PC1:PC1,PC2,PC3 PGL_PC6:PC6 PPG_PCG:PCG
MFN_M02:M02 MFN_M04:M04 MFN_M05:M05 MFK_M01:M02 PMU_B01:B01 QBP_Q21:Q22,Q23,K22 RSP_K21:K22 RSP_K23:K23 QRY_A19:A19 ADR_A19:A19
QRY_R02:R02 ORF_R04:R04 ACK:A01 CRM_C01:C01 CSU_C09:C09"""
IN_PIECES = {"DSC", "ADD"}
# A placeholder for a segment that the sites agree on.
ANY_SEGMENT = {"ANYHL7SEGMENT", "ANYZSEGMENT", "Hxx", "HXX", "ZXX", "Zxx", "MF", "anyHL7Segment", "anyZSegment"}
LEFT_OUT = {"MSH_14", "MSH_18", "MSH_20"}
TABLES = importlib.import_module("hl7apy.v2_5_1.tables").TABLES
SEPARATORS = {"FIE": "^", "CMP": "&"}
TEXTS = ["Seen on the ward this morning.", "Result called to the floor.", "Fasting specimen.", "Patient tolerated the procedure well.",
         "No acute distress."]


def structures(version):
    return importlib.import_module("hl7apy.v" + version.replace(".", "_") + ".messages").MESSAGES


def escaped(text):
    for char, code in (("\\", "E"), ("|", "F"), ("^", "S"), ("~", "R"), ("&", "T")):
        text = text.replace(char, f"\\{code}\\")
    return text


class Message:
    """A message under construction."""

    def __init__(self, rng, version, code, trigger, structure):
        self.rng, self.version, self.code, self.trigger, self.structure = rng, version, code, trigger, structure
        self.given, self.middle, self.family = invent.person(rng)
        self.mrn = "MR" + invent.number(rng, 7)
        self.lines = []

    def code_of(self, table):
        """Returns a code of the table; an invented one for a table that sites define."""
        codes = TABLES.get(table, ("", ()))[1]
        codes = [one for one in codes if one.isascii() and len(one) <= 12 and "..." not in one]
        return escaped(self.rng.choice(codes)) if codes else f"S{self.rng.randrange(1, 9)}"

    def stamp(self, with_time=True):
        day = invent.date(self.rng).replace("-", "")
        return day + invent.clock(self.rng).replace(":", "") if with_time and self.rng.random() < 0.7 else day

    def leaf(self, kind, name, table):
        rng = self.rng
        if kind in ("DT",):
            return self.stamp(False)
        if kind in ("DTM", "TS"):
            return self.stamp()
        if kind == "TM":
            return invent.clock(rng).replace(":", "")[:4]
        if kind == "NM":
            return rng.choice([str(rng.randrange(1, 200)), f"{rng.randrange(1, 99)}.{rng.randrange(10)}"])
        if kind == "SI":
            return str(rng.randrange(1, 9))
        if table and kind in ("ID", "IS", "ST"):
            return self.code_of(table)
        if kind in ("TN",):
            return invent.phone(rng).replace("+1 ", "")
        name = name or ""
        for part, make in (("PHONE", invent.phone), ("SSN", invent.ssn), ("SURNAME", lambda r: r.choice(invent.FAMILY)),
                           ("FAMILY_NAME", lambda r: r.choice(invent.FAMILY)), ("GIVEN_NAME", lambda r: r.choice(invent.GIVEN)),
                           ("CITY", lambda r: r.choice(invent.CITIES)[0]), ("STREET", invent.street),
                           ("NAME", lambda r: " ".join(invent.person(r)[::2])), ("NUMBER", invent.number),
                           ("IDENTIFIER", invent.number), ("ID", invent.number), ("DATE", lambda r: self.stamp())):
            if part in name:
                return escaped(make(rng))
        if kind in ("TX", "FT"):
            return rng.choice(TEXTS)
        return escaped(rng.choice(["Routine", "Ward 4", "See chart", "Left", "A7", "Morning"]))

    def value(self, node, depth, required):
        """Returns a field or a component: `(shape, children, data type, long name, table, length)` in the tables of hl7apy."""
        rng = self.rng
        children, kind, name, table = node[1], node[2], node[3], node[4]
        if kind in ("CX", "CK") and depth == 0:
            return f"{'N' + invent.number(rng, 7)}^^^NORTHGATE^{rng.choice(['MR', 'AN', 'VN', 'PI'])}"
        if kind in ("XPN", "PN") and depth == 0:
            given, middle, family = invent.person(rng)
            return f"{escaped(family)}^{given}^{middle}"
        if kind in ("XCN", "CN") and depth == 0:
            given, middle, family = invent.person(rng)
            return f"{invent.number(rng, 5)}^{escaped(family)}^{given}^{middle}"
        if kind in ("XAD", "AD") and depth == 0:
            city, state, code = rng.choice(invent.CITIES)
            return f"{invent.street(rng)}^^{city}^{state}^{code}"
        if kind in ("XTN",) and depth == 0:
            return escaped(invent.phone(rng)) + "^PRN^PH"
        if kind in ("CE", "CWE", "CNE") and depth == 0:
            codes = TABLES.get(table or "", ("", ()))[1]
            if codes:
                return f"{self.code_of(table)}^^{table}"
            system, (code, display) = rng.choice([("LN", rng.choice(invent.LOINC)), ("SCT", rng.choice(invent.SNOMED)),
                                                  ("I10C", rng.choice(invent.ICD10)), ("99LOC", ("W12", "Ward list"))])
            return f"{escaped(code)}^{escaped(display)}^{system}"
        if not children:
            return self.leaf(kind, name, table)
        if depth == 2:
            return self.leaf("ST", name, table)
        parts = []
        for at, (_, child, (low, _), _) in enumerate(children):
            wanted = low > 0 or at == 0 or (rng.random() < 0.3 and depth == 0)
            parts.append(self.value(child, depth + 1, low > 0) if wanted else "")
        while parts and not parts[-1]:
            parts.pop()
        return ("^" if depth == 0 else "&").join(parts)

    def field(self, name, node, low, high):
        """Returns a field's repetitions."""
        rng = self.rng
        fixed = {"MSH_3": "SCRIBE", "MSH_4": "NORTHGATE", "MSH_5": "STORE", "MSH_6": "NORTHGATE", "MSH_7": self.stamp(),
                 "MSH_10": "C" + invent.number(rng, 7), "MSH_11": "P", "MSH_12": self.version, "EVN_1": self.trigger,
                 "MSH_9": self.message_type(), "PID_5": f"{escaped(self.family)}^{self.given}^{self.middle}",
                 "PID_3": f"{self.mrn}^^^NORTHGATE^MR", "PID_7": invent.date(rng, 1935, 2015).replace("-", ""),
                 "PID_8": rng.choice("FM"), "PID_19": invent.ssn(rng)}
        if name in fixed:
            return fixed[name]
        if name in LEFT_OUT or not (low > 0 or rng.random() < 0.45):
            return ""
        if name == "OBX_5" or node[2] == "varies":
            return ""
        times = 2 if high != 1 and rng.random() < 0.2 else 1
        return "~".join(self.value(node, 0, low > 0) for _ in range(times))

    def message_type(self):
        if self.code == "ACK" and self.version in ("2.3", "2.3.1"):
            return "ACK^" + self.trigger
        if self.version == "2.3":
            return f"{self.code}^{self.trigger}"
        return f"{self.code}^{self.trigger}^{self.structure}"

    def segment(self, name, node):
        fields = {}
        for field, child, (low, high), _ in node[1]:
            fields[int(field.split("_")[1])] = self.field(field, child, low, high)
        if name == "OBX":
            self.observation(fields)
        if name == "MSH":
            values = ["MSH", "^~\\&"] + [fields.get(n, "") for n in range(3, max(fields) + 1)]
        else:
            values = [name] + [fields.get(n, "") for n in range(1, max(fields) + 1)]
        while not values[-1]:
            values.pop()
        self.lines.append("|".join(values))

    def observation(self, fields):
        rng = self.rng
        code, display = rng.choice(invent.LOINC)
        fields[3] = f"{code}^{escaped(display)}^LN"
        kind = rng.choice(["NM", "NM", "TX", "ST", "CE", "DT", "SN"])
        fields[2], fields[11] = kind, "F"
        fields[5] = {"NM": str(rng.randrange(1, 200)), "TX": rng.choice(TEXTS) + f" Discussed with {self.given} {self.family}.",
                     "ST": rng.choice(["Negative", "Positive", "Trace"]), "CE": "260385009^Negative^SCT", "DT": self.stamp(False),
                     "SN": f"<^{rng.randrange(1, 9)}"}[kind]
        if kind in ("NM", "SN"):
            fields[6] = rng.choice(invent.UNITS)[0].replace("&", "")

    def group(self, children, depth=0):
        for name, node, (low, high), role in children:
            base = name.split("_")[-1] if role == "SEG" else name
            if base in IN_PIECES and low == 0 or base in ANY_SEGMENT:
                continue
            if not (low > 0 or self.rng.random() < (0.5 if depth < 3 else 0.3)):
                continue
            times = 2 if high != 1 and self.rng.random() < 0.2 else 1
            for _ in range(times):
                if role == "SEG":
                    self.segment(base, node)
                else:
                    self.group(node[1], depth + 1)

    def text(self):
        self.group(structures(self.version)[self.structure][1])
        return "\r".join(self.lines) + "\r"


def events():
    """Returns each trigger event: message code, event, structure."""
    for entry in EVENTS.split():
        structure, triggers = entry.split(":")
        for trigger in triggers.split(","):
            yield structure.split("_")[0], trigger, structure


def messages(rng, rounds):
    """Returns messages of every event, in all versions that have its structure; each round has other values."""
    for _ in range(rounds):
        for code, trigger, structure in events():
            versions = [one for one in VERSIONS if structure in structures(one)]
            for version in rng.sample(versions, min(2, len(versions))):
                made = Message(rng, version, code, trigger, structure)
                yield f"{code}^{trigger}", version, made.text()
