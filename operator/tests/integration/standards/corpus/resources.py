"""FHIR R4B resources from the models of `fhir.resources`: every resource type, with values in the elements of its model.

Every required element has a value, and each optional one with some probability. The strict model of each resource reads it
before it is used.
"""

import importlib
import pkgutil
import typing

import fhir.resources.R4B as r4b
from fhir.resources.R4B.domainresource import DomainResource
from fhir_core import types as fhirtypes

import invent
import narrative

# Base classes, and resources that record nothing.
ABSTRACT = {"DomainResource", "Resource"}
SKIPPED = {"fhir_comments", "extension", "modifierExtension", "implicitRules", "text", "contained", "id", "resource_type", "meta"}
SYSTEMS = {"loinc": "http://loinc.org", "snomed": "http://snomed.info/sct", "rxnorm": "http://www.nlm.nih.gov/research/umls/rxnorm",
           "cvx": "http://hl7.org/fhir/sid/cvx", "icd10": "http://hl7.org/fhir/sid/icd-10-cm"}
CODES = {"loinc": invent.LOINC, "snomed": invent.SNOMED, "rxnorm": invent.RXNORM, "cvx": invent.CVX, "icd10": invent.ICD10}
PHRASES = ["Taken with food", "Repeat in two weeks", "Stable since the last visit", "Left side", "No complications",
           "As agreed at discharge", "Fasting"]
# Enumerations that the models list in part, with "+" for the rest.
INCOMPLETE = {"+", "..."}


def classes():
    """Returns the model of each resource type by name."""
    found = {}
    for module in pkgutil.iter_modules(r4b.__path__):
        if module.name.startswith(("test", "fhirtypes")):
            continue
        for name, cls in vars(importlib.import_module(f"fhir.resources.R4B.{module.name}")).items():
            if isinstance(cls, type) and issubclass(cls, DomainResource) and cls.__module__.startswith(r4b.__name__):
                found[name] = cls
    return {name: cls for name, cls in sorted(found.items()) if name not in ABSTRACT}


def parts(annotation):
    """Returns the type within `Optional` and `List`, and whether it is a list."""
    repeats = False
    while True:
        origin = typing.get_origin(annotation)
        if origin in (list, typing.List):
            repeats, annotation = True, typing.get_args(annotation)[0]
        elif origin is typing.Annotated:
            return annotation, repeats
        elif typing.get_args(annotation):
            annotation = next(one for one in typing.get_args(annotation) if one is not type(None))
        else:
            return annotation, repeats


class Resource:
    """A resource under construction, about a patient whom it may name."""

    def __init__(self, rng, kind, cls, patient, full=0.5):
        self.rng, self.kind, self.cls, self.patient, self.full = rng, kind, cls, patient, full

    def make(self):
        resource = self.object(self.cls, 0, self.kind)
        resource["resourceType"] = self.kind
        resource["id"] = self.patient["id"] if self.kind == "Patient" else self.identity()
        resource["meta"] = {"versionId": "1", "lastUpdated": self.instant()}
        if self.rng.random() < 0.5:
            resource["meta"]["security"] = [{"system": "http://terminology.hl7.org/CodeSystem/v3-Confidentiality",
                                             "code": "R", "display": "restricted"}]
        if self.kind == "Patient":
            self.patient["fill"](resource)
        return resource

    def identity(self):
        return invent.uuid(self.rng) if self.rng.random() < 0.7 else "r" + invent.number(self.rng, 6)

    def instant(self):
        return f"{invent.date(self.rng)}T{invent.clock(self.rng)}Z"

    def object(self, cls, depth, path):
        rng, made, chosen = self.rng, {}, {}
        fields = [(name, field) for name, field in cls.model_fields.items()
                  if name not in SKIPPED and not name.endswith("__ext")]
        for name, field in fields:
            extra = field.json_schema_extra or {}
            if "one_of_many" in extra:
                chosen.setdefault(extra["one_of_many"], []).append(name)
        picked = {group: self.pick(names) for group, names in chosen.items()}
        for name, field in fields:
            extra = field.json_schema_extra or {}
            required = bool(extra.get("element_required")) or field.is_required()
            group = extra.get("one_of_many")
            if group:
                if picked[group] != name:
                    continue
                required = bool(extra.get("one_of_many_required"))
            if not (required or (rng.random() < self.full if depth == 0 else depth < 4 and rng.random() < self.full * 0.7)):
                continue
            kind, repeats = parts(field.annotation)
            times = rng.choice([1, 1, 2]) if repeats else 1
            values = [self.value(kind, extra, f"{path}.{field.alias}", depth + 1) for _ in range(times)]
            values = [value for value in values if value not in (None, {})]
            if values:
                made[field.alias] = values if repeats else values[0]
            elif required:
                raise ValueError(f"no value for {path}.{field.alias}")
        return made

    def pick(self, names):
        """Returns one choice of a type, for instance of `value[x]`; common ones are more frequent."""
        usual = [name for name in names if name.endswith(("Quantity", "CodeableConcept", "DateTime", "Boolean", "String", "Reference",
                                                          "Period"))]
        return self.rng.choice(usual if usual and self.rng.random() < 0.7 else names)

    def value(self, kind, extra, path, depth):
        rng = self.rng
        cls = getattr(kind, "_model_klass", None)
        if cls is None:
            return self.primitive(kind, extra, path)
        name = cls.rsplit(".", 1)[-1] if isinstance(cls, str) else cls.__name__
        if isinstance(cls, str):
            module, name = cls.rsplit(".", 1)
            cls = getattr(importlib.import_module(module), name)
        special = getattr(self, "a_" + name.lower(), None)
        if special:
            return special(path, extra)
        if name in ("Extension", "Resource", "Narrative"):
            return None
        return self.object(cls, depth, path) or self.one_element(cls, depth, path)

    def one_element(self, cls, depth, path):
        """Returns an object without required elements that must not be empty, with a primitive element."""
        for name, field in cls.model_fields.items():
            kind, repeats = parts(field.annotation)
            primitive = typing.get_origin(kind) is typing.Annotated or kind is bool
            if primitive and name not in SKIPPED and not name.endswith("__ext"):
                value = self.primitive(kind, field.json_schema_extra or {}, f"{path}.{field.alias}")
                return {field.alias: [value] if repeats else value}
        return None

    def primitive(self, kind, extra, path):
        rng = self.rng
        if typing.get_origin(kind) is typing.Annotated:
            meta = typing.get_args(kind)[1]
            name = type(meta).__name__
        else:
            name = getattr(kind, "__name__", str(kind))
        enum = [one for one in extra.get("enum_values") or () if one not in INCOMPLETE and " " not in one]
        if enum and name in ("Code", "CodeType"):
            return rng.choice(enum)
        if name in ("bool", "Boolean", "BooleanType"):
            return rng.random() < 0.5
        if name in ("Decimal",):
            return rng.choice([round(rng.uniform(0.1, 180), 1), rng.randrange(1, 200)])
        if name in ("PositiveInt", "UnsignedInt", "Integer"):
            return rng.randrange(1, 90)
        if name == "Integer64":
            return rng.randrange(1, 90)
        if name == "Date":
            return invent.date(rng)
        if name == "DateTime":
            return invent.date(rng) + (f"T{invent.clock(rng)}Z" if rng.random() < 0.5 else "")
        if name == "Instant":
            return self.instant()
        if name == "Time":
            return invent.clock(rng)
        if name == "Base64Binary":
            return "U2Vlbi4="
        if name in ("Uri", "Url", "Canonical"):
            return rng.choice([f"http://northgate.example/fhir/{self.kind}/{invent.number(rng, 5)}", "urn:oid:2.16.840.1.113883.4.642"])
        if name == "Oid":
            return "urn:oid:1.2.840.99999"
        if name == "Uuid":
            return "urn:uuid:" + invent.uuid(rng)
        if name == "Id":
            return self.identity()
        if name == "Code":
            return "en" if path.endswith("language") else rng.choice(["active", "routine", "final", "W12"])
        if path.endswith((".name", ".authorString", ".recorder")) and rng.random() < 0.7:
            return " ".join(invent.person(rng)[::2])
        return rng.choice(PHRASES)

    def a_identifier(self, path, extra):
        rng = self.rng
        kind = rng.choice(["MR", "AN", "PI", "PLAC", None])
        made = {"system": rng.choice(["http://northgate.example/ids", "urn:oid:1.2.36.146.595.217"]), "value": "N" + invent.number(rng, 7)}
        if kind:
            made["type"] = {"coding": [{"system": "http://terminology.hl7.org/CodeSystem/v2-0203", "code": kind}]}
        return made

    def a_humanname(self, path, extra):
        given, middle, family = invent.person(self.rng)
        made = {"family": family, "given": [given, middle]}
        if self.rng.random() < 0.5:
            made |= {"use": "official", "prefix": ["Dr." if "ractitioner" in self.kind else "Ms."]}
        return made

    def a_contactpoint(self, path, extra):
        system = self.rng.choice(["phone", "phone", "email", "fax"])
        value = invent.email(self.rng) if system == "email" else invent.phone(self.rng)
        return {"system": system, "value": value, "use": self.rng.choice(["home", "work", "mobile"])}

    def a_address(self, path, extra):
        city, state, code = self.rng.choice(invent.CITIES)
        return {"line": [invent.street(self.rng)], "city": city, "state": state, "postalCode": code, "country": "US"}

    def a_reference(self, path, extra):
        rng = self.rng
        kinds = extra.get("enum_reference_types") or ["Observation"]
        kind = "Patient" if "Patient" in kinds and rng.random() < 0.8 else rng.choice(kinds)
        if kind == "Resource":
            kind = "Observation"
        if kind == "Patient":
            return {"reference": "Patient/" + self.patient["id"], "display": self.patient["name"]}
        made = {"reference": f"{kind}/{self.identity()}"}
        if kind in ("Practitioner", "PractitionerRole", "RelatedPerson") and rng.random() < 0.7:
            made["display"] = ("Dr. " if kind != "RelatedPerson" else "") + " ".join(invent.person(rng)[::2])
        if kind in ("Organization", "Location") and rng.random() < 0.7:
            made["display"] = rng.choice(invent.HOSPITALS)
        return made

    def a_coding(self, path, extra):
        rng = self.rng
        name = "loinc" if self.kind == "Observation" and path.endswith(".code") else rng.choice(list(CODES))
        code, display = rng.choice(CODES[name])
        return {"system": SYSTEMS[name], "code": code, "display": display}

    def a_codeableconcept(self, path, extra):
        coding = self.a_coding(path, extra)
        made = {"coding": [coding]}
        if self.rng.random() < 0.5:
            made["text"] = coding["display"]
        return made

    def a_quantity(self, path, extra):
        code, unit = self.rng.choice(invent.UNITS)
        return {"value": round(self.rng.uniform(0.5, 180), 1), "unit": unit, "system": "http://unitsofmeasure.org", "code": code}

    def a_age(self, path, extra):
        return {"value": self.rng.randrange(20, 80), "unit": "years", "system": "http://unitsofmeasure.org", "code": "a"}

    def a_duration(self, path, extra):
        return {"value": self.rng.randrange(1, 20), "unit": "days", "system": "http://unitsofmeasure.org", "code": "d"}

    def a_money(self, path, extra):
        return {"value": self.rng.randrange(1, 900), "currency": "USD"}

    def a_period(self, path, extra):
        days = sorted(invent.date(self.rng) for _ in range(2))
        return {"start": days[0], "end": days[1]}

    def a_attachment(self, path, extra):
        return {"contentType": "text/plain", "data": "U2VlbiB0b2RheSwgbm8gY29tcGxhaW50cy4=", "title": "Note"}

    def a_annotation(self, path, extra):
        made = {"text": self.rng.choice(PHRASES) + "."}
        if self.rng.random() < 0.6:
            made |= {"authorString": "Dr. " + " ".join(invent.person(self.rng)[::2]), "time": self.instant()}
        return made

    def a_meta(self, path, extra):
        return None


def a_patient(rng):
    """Returns an invented patient, the subject of resources."""
    given, middle, family = invent.person(rng)
    city, state, code = rng.choice(invent.CITIES)
    birth, line, phone, mrn = invent.date(rng, 1940, 2010), invent.street(rng), invent.phone(rng), "M" + invent.number(rng, 7)

    def fill(resource):
        resource["name"] = [{"use": "official", "family": family, "given": [given, middle]}]
        resource["identifier"] = [{"type": {"coding": [{"system": "http://terminology.hl7.org/CodeSystem/v2-0203", "code": "MR",
                                                        "display": "Medical record number"}]},
                                   "system": "http://northgate.example/mrn", "value": mrn}]
        resource["birthDate"] = birth
        resource["address"] = [{"line": [line], "city": city, "state": state, "postalCode": code, "country": "US"}]
        resource["telecom"] = [{"system": "phone", "value": phone, "use": "home"}]

    return {"id": invent.uuid(rng), "name": f"{given} {family}", "fill": fill}


def checked(cls, resource):
    """Returns the resource after its strict model has read it."""
    cls.model_validate(resource)
    return resource


def resource(rng, kind, cls, patient, full=0.5):
    """Returns a resource of a type that its model accepts."""
    for _ in range(30):
        try:
            return checked(cls, Resource(rng, kind, cls, patient, full).make())
        except ValueError as error:
            last = error
    raise ValueError(f"{kind}: {last}")


def with_text(rng, resource):
    """Returns the resource with generated narrative, and its identifying pieces."""
    div, gold = narrative.of(rng, resource)
    return {**resource, "text": {"status": "generated", "div": div}}, gold


def bundle(rng, kind, resources, gold):
    entries = []
    for one in resources:
        entry = {"fullUrl": f"http://northgate.example/fhir/{one['resourceType']}/{one['id']}", "resource": one}
        if kind == "searchset":
            entry["search"] = {"mode": "match"}
        if kind == "transaction":
            entry["request"] = {"method": "PUT", "url": f"{one['resourceType']}/{one['id']}"}
        entries.append(entry)
    made = {"resourceType": "Bundle", "type": kind, "id": invent.uuid(rng), "entry": entries,
            "meta": {"security": [{"system": "http://terminology.hl7.org/CodeSystem/v3-Confidentiality", "code": "N"}]}}
    if kind == "searchset":
        made["total"] = len(entries)
    if kind == "document":
        made |= {"timestamp": f"{invent.date(rng)}T{invent.clock(rng)}Z",
                 "identifier": {"system": "urn:ietf:rfc:3986", "value": "urn:uuid:" + invent.uuid(rng)}}
    module = importlib.import_module("fhir.resources.R4B.bundle")
    module.Bundle.model_validate(made)
    return made, gold


def all_of(rng, rounds):
    """Returns resources of each type, alone and in bundles: name, resource, gold of its narrative."""
    all_classes = classes()
    for at in range(rounds):
        for kind, cls in all_classes.items():
            one = resource(rng, kind, cls, a_patient(rng), (0.5, 0.15, 0.85)[at % 3])
            # The second of each has no narrative, like the output of bulk data servers.
            if at % 2:
                yield kind, one, None
            else:
                one, gold = with_text(rng, one)
                yield kind, one, [gold]
    # These are not domain resources: a document, and the input of an operation.
    yield "Binary", {"resourceType": "Binary", "id": "b1", "contentType": "text/plain", "data": "U2Vlbi4="}, None
    yield "Parameters", {"resourceType": "Parameters", "parameter": [{"name": "count", "valueInteger": 5}]}, None
    clinical = ["Patient", "Encounter", "Condition", "Observation", "MedicationRequest", "Immunization", "AllergyIntolerance", "Procedure"]
    for _ in range(rounds):
        for kind in ("searchset", "transaction", "collection", "document"):
            patient = a_patient(rng)
            names = (["Composition"] if kind == "document" else []) + clinical
            made = [with_text(rng, resource(rng, name, all_classes[name], patient)) for name in names]
            whole, gold = bundle(rng, kind, [one for one, _ in made], [pieces for _, pieces in made])
            yield f"Bundle {kind}", whole, gold if kind != "document" else None
