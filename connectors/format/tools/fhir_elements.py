"""Writes src/fhir/elements.tsv from the R4B models of the PyPI package fhir.resources 7.1.0.

Run: python tools/fhir_elements.py > src/fhir/elements.tsv
"""
import importlib
import pkgutil
import typing

import fhir.resources.R4B as r4b
from fhir.resources.R4B.backboneelement import BackboneElement
from fhir.resources.R4B.domainresource import DomainResource

SKIP = {"extension", "modifierExtension", "implicitRules", "resource_type", "fhir_comments"}

print("# Elements of FHIR R4B (CC0), from the models of fhir.resources 7.1.0 (BSD): parent, element, type,")
print("# flags (r required, or one of a required choice; * repeats), codes of a required binding. Written by tools/fhir_elements.py.")
classes = {}
for module in pkgutil.iter_modules(r4b.__path__):
    if module.name.startswith(("test", "fhirtypes", "elementdefinition")):
        continue
    for name, cls in vars(importlib.import_module(f"fhir.resources.R4B.{module.name}")).items():
        if isinstance(cls, type) and issubclass(cls, (DomainResource, BackboneElement)) and cls.__module__.startswith("fhir.resources.R4B"):
            classes[name] = cls
for name in sorted(set(classes) - {"DomainResource", "BackboneElement"}):
    for field in classes[name].__fields__.values():
        if field.alias.startswith("_") or field.name in SKIP or field.name.endswith("__ext"):
            continue
        kind = getattr(field.type_, "__resource_type__", None) or field.type_.__name__
        extra = field.field_info.extra
        must = field.required or extra.get("element_required") or extra.get("one_of_many_required")
        required = "r" if must else ""
        repeats = "*" if typing.get_origin(field.outer_type_) is list or "List[" in str(field.outer_type_) else ""
        codes = " ".join(code for code in extra.get("enum_values") or () if " " not in code)
        role = "R" if field.name == "id" and issubclass(classes[name], DomainResource) else ""
        print("\t".join((name, field.alias, kind, required + repeats + role, codes)))
