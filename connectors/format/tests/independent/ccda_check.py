"""Checks that a document is valid C-CDA, independently of Lethe.

HL7's schema of CDA release 2 is in no package registry, so its rules stand here: order and cardinality of the children of each
class (POCD_MT000040, with HL7's `sdtc:` extensions at any place), the content model of narratives (NarrativeBlock.xsd), the
shape of data types' attributes, ID and IDREF, and what C-CDA R2.1 requires of a US Realm Header (section 1.1) and of sections.

    ccda_check.py FILE...

Prints each violation; exits with 1 if there is any.
"""

import re
import sys

from lxml import etree

V3, SDTC, XSI = "urn:hl7-org:v3", "urn:hl7-org:sdtc", "http://www.w3.org/2001/XMLSchema-instance"

PEOPLE = "subject? specimen* performer* author* informant* participant* entryRelationship* reference* precondition*"
STATEMENT = (
    "(act|encounter|observation|observationMedia|organizer|procedure|regionOfInterest|substanceAdministration|supply)"
)
ORGANIZATION = "id* name* telecom* addr* standardIndustryClassCode? asOrganizationPartOf?"
PERSON = "name*"
PLACE = "name? addr?"
AUTHENTICATOR = "time signatureCode assignedEntity"

# Children of each class, in order. A key may name the parent where one name has several models.
CLASSES = {
    "ClinicalDocument": "id code title? effectiveTime confidentialityCode languageCode? setId? versionNumber? copyTime? "
    "recordTarget+ author+ dataEnterer? informant* custodian informationRecipient* legalAuthenticator? authenticator* "
    "participant* inFulfillmentOf* documentationOf* relatedDocument* authorization* componentOf? component",
    "recordTarget": "patientRole",
    "patientRole": "id+ addr* telecom* patient? providerOrganization?",
    "patient": "id? name* administrativeGenderCode? birthTime? maritalStatusCode? religiousAffiliationCode? raceCode? "
    "ethnicGroupCode? guardian* birthplace? languageCommunication*",
    "guardian": "id* code? addr* telecom* (guardianPerson|guardianOrganization)",
    "guardianPerson": PERSON,
    "guardianOrganization": ORGANIZATION,
    "birthplace": "place",
    "place": PLACE,
    "languageCommunication": "languageCode? modeCode? proficiencyLevelCode? preferenceInd?",
    "providerOrganization": ORGANIZATION,
    "author": "functionCode? time assignedAuthor",
    "assignedAuthor": "id+ code? addr* telecom* (assignedPerson|assignedAuthoringDevice)? representedOrganization?",
    "assignedAuthoringDevice": "code? manufacturerModelName? softwareName? asMaintainedEntity*",
    "assignedPerson": PERSON,
    "representedOrganization": ORGANIZATION,
    "dataEnterer": "time? assignedEntity",
    "assignedEntity": "id+ code? addr* telecom* assignedPerson? representedOrganization*",
    "informant": "(assignedEntity|relatedEntity)",
    "relatedEntity": "code? addr* telecom* effectiveTime? relatedPerson?",
    "relatedPerson": PERSON,
    "custodian": "assignedCustodian",
    "assignedCustodian": "representedCustodianOrganization",
    "representedCustodianOrganization": "id+ name? telecom? addr?",
    "ClinicalDocument/informationRecipient": "intendedRecipient",
    "intendedRecipient": "id* addr* telecom* informationRecipient? receivedOrganization?",
    "intendedRecipient/informationRecipient": PERSON,
    "receivedOrganization": ORGANIZATION,
    "legalAuthenticator": AUTHENTICATOR,
    "authenticator": AUTHENTICATOR,
    "ClinicalDocument/participant": "functionCode? time? associatedEntity",
    "associatedEntity": "id* code? addr* telecom* associatedPerson? scopingOrganization?",
    "associatedPerson": PERSON,
    "scopingOrganization": ORGANIZATION,
    "inFulfillmentOf": "order",
    "order": "id+ code? priorityCode?",
    "documentationOf": "serviceEvent",
    "serviceEvent": "id* code? effectiveTime? performer*",
    "serviceEvent/performer": "functionCode? time? assignedEntity",
    "relatedDocument": "parentDocument",
    "parentDocument": "id+ code? text? setId? versionNumber?",
    "authorization": "consent",
    "consent": "id* code? statusCode",
    "componentOf": "encompassingEncounter",
    "encompassingEncounter": "id* code? effectiveTime dischargeDispositionCode? responsibleParty? encounterParticipant* "
    "location?",
    "responsibleParty": "assignedEntity",
    "encounterParticipant": "time? assignedEntity",
    "encompassingEncounter/location": "healthCareFacility",
    "healthCareFacility": "id* code? location? serviceProviderOrganization?",
    "healthCareFacility/location": PLACE,
    "serviceProviderOrganization": ORGANIZATION,
    "asOrganizationPartOf": "id* code? statusCode? effectiveTime? wholeOrganization?",
    "wholeOrganization": ORGANIZATION,
    "ClinicalDocument/component": "(nonXMLBody|structuredBody)",
    "nonXMLBody": "text confidentialityCode? languageCode?",
    "structuredBody": "confidentialityCode? languageCode? component+",
    "structuredBody/component": "section",
    "section/component": "section",
    "section": "id? code? title? text? confidentialityCode? languageCode? subject? author* informant* entry* component*",
    "section/subject": "awarenessCode? relatedSubject",
    "entry": STATEMENT,
    "act": f"id* code text? statusCode? effectiveTime? priorityCode? languageCode? {PEOPLE}",
    "encounter": f"id* code? text? statusCode? effectiveTime? priorityCode? {PEOPLE}",
    "observation": "id* code derivationExpr? text? statusCode? effectiveTime? priorityCode? repeatNumber? languageCode? "
    f"value* interpretationCode* methodCode* targetSiteCode* {PEOPLE} referenceRange*",
    "observationMedia": f"id* languageCode? value {PEOPLE}",
    "regionOfInterest": f"id+ code value+ {PEOPLE}",
    "organizer": "id* code? statusCode effectiveTime? subject? specimen* performer* author* informant* participant* "
    "reference* precondition* component*",
    "procedure": "id* code? text? statusCode? effectiveTime? priorityCode? languageCode? methodCode* approachSiteCode* "
    f"targetSiteCode* {PEOPLE}",
    "substanceAdministration": "id* code? text? statusCode? effectiveTime* priorityCode? repeatNumber? routeCode? "
    "approachSiteCode* doseQuantity? rateQuantity? maxDoseQuantity? administrationUnitCode? consumable " + PEOPLE,
    "supply": "id* code? text? statusCode? effectiveTime* priorityCode* repeatNumber? independentInd? quantity? "
    "expectedUseTime? subject? specimen* product? performer* author* informant* participant* entryRelationship* "
    "reference* precondition*",
    "organizer/component": f"sequenceNumber? seperatableInd? {STATEMENT}",
    "entryRelationship": f"sequenceNumber? seperatableInd? {STATEMENT}",
    "subject": "awarenessCode? relatedSubject",
    "relatedSubject": "code? addr* telecom* subject?",
    "relatedSubject/subject": "name* administrativeGenderCode? birthTime?",
    "specimen": "specimenRole",
    "specimenRole": "id* specimenPlayingEntity?",
    "specimenPlayingEntity": "code? quantity* name* desc?",
    "performer": "time? modeCode? assignedEntity",
    "participant": "time? awarenessCode? participantRole",
    "participantRole": "id* code? addr* telecom* (playingDevice|playingEntity)? scopingEntity?",
    "playingDevice": "code? manufacturerModelName? softwareName?",
    "playingEntity": "code? quantity* name* desc?",
    "scopingEntity": "id* code? desc?",
    "consumable": "manufacturedProduct",
    "product": "manufacturedProduct",
    "manufacturedProduct": "id* (manufacturedLabeledDrug|manufacturedMaterial) manufacturerOrganization?",
    "manufacturedMaterial": "code? name? lotNumberText?",
    "manufacturedLabeledDrug": "code? name?",
    "manufacturerOrganization": ORGANIZATION,
    "reference": "seperatableInd? (externalAct|externalObservation|externalProcedure|externalDocument)",
    "externalAct": "id* code? text?",
    "externalObservation": "id* code? text?",
    "externalProcedure": "id* code? text?",
    "externalDocument": "id* code? text? setId? versionNumber?",
    "precondition": "criterion",
    "criterion": "code? text? value?",
    "referenceRange": "observationRange",
    "observationRange": "code? text? value? interpretationCode?",
}

# Children of elements of data types, in order.
CODED = "originalText? qualifier* translation*"
TYPES = {
    "originalText": "reference?",
    "qualifier": "name? value?",
    "name": "(prefix|given|family|suffix|delimiter|validTime)*",
    "addr": "(streetAddressLine|city|state|postalCode|country|county|useablePeriod|additionalLocator|houseNumber)*",
    "telecom": "useablePeriod*",
    "maxDoseQuantity": "numerator denominator",
    "effectiveTime": "(low (width|high)?|high|width high?|center width?|period|phase period?|event offset?|comp+)?",
}
INTERVAL = "(low (width|high)?|high|width high?|center width?)?"
BY_TYPE = {
    "CD": CODED,
    "CE": CODED,
    "IVL_TS": INTERVAL,
    "IVL_PQ": INTERVAL,
    "ED": "reference?",
    "ST": "",
    "PQ": "translation*",
    "PIVL_TS": "phase? period?",
}

INLINE = {"content", "linkHtml", "sub", "sup", "br", "footnote", "footnoteRef", "renderMultiMedia"}
BLOCK = {"paragraph", "list", "table"}
NOTES = {"footnote", "footnoteRef"}
NARRATIVE = {
    "text": INLINE | BLOCK,
    "content": INLINE,
    "linkHtml": NOTES,
    "sub": set(),
    "sup": set(),
    "br": set(),
    "footnoteRef": set(),
    "footnote": (INLINE - NOTES) | BLOCK,
    "renderMultiMedia": {"caption"},
    "paragraph": INLINE | {"caption"},
    "caption": NOTES | {"linkHtml", "sub", "sup"},
    "list": {"caption", "item"},
    "item": INLINE | BLOCK | {"caption"},
    "table": {"caption", "col", "colgroup", "thead", "tfoot", "tbody"},
    "colgroup": {"col"},
    "col": set(),
    "thead": {"tr"},
    "tfoot": {"tr"},
    "tbody": {"tr"},
    "tr": {"th", "td"},
    "th": INLINE,
    "td": INLINE | {"paragraph", "list"},
}
UNMIXED = {"list", "table", "colgroup", "col", "thead", "tfoot", "tbody", "tr", "br", "footnoteRef", "renderMultiMedia"}
MODELS = {"table": "caption? (col*|colgroup*) thead? tfoot? tbody+", "list": "caption? item+", "tr": "(th|td)+"}

STRUCTURAL = set(
    "classCode moodCode typeCode determinerCode contextControlCode contextConductionInd negationInd inversionInd "
    "independentInd institutionSpecified operator nullFlavor ID use qualifier inclusive inverted isCriterionInd".split()
)
DATA = set(
    "code codeSystem codeSystemName codeSystemVersion displayName root extension assigningAuthorityName displayable value "
    "unit mediaType representation language alignment partType".split()
)
LAYOUT = set(
    "ID IDREF language styleCode revised href name rel rev title listType referencedObject summary width border frame rules "
    "cellspacing cellpadding align char charoff valign span abbr axis headers scope rowspan colspan mediaType".split()
)
NULLS = set("NI INV DER OTH NINF PINF UNC MSK NA UNK QS TRC ASKU NAV NASK NP".split())
OID = r"[0-2](\.(0|[1-9][0-9]*))*"
UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
TIME = r"[0-9]{4}([0-9]{2}([0-9]{2}([0-9]{2}([0-9]{2}([0-9]{2}(\.[0-9]{1,4})?)?)?([+-][0-9]{4})?)?)?)?"
TIMES = {"effectiveTime", "birthTime", "time", "low", "high", "center"}


def local(element):
    return etree.QName(element).localname


def compiled(text):
    """The content model as an expression over names that each end with a space."""
    parts = re.findall(r"[A-Za-z0-9_]+|[()|*+?]", text)
    return re.compile("".join(f"(?:{part} )" if part[0].isalnum() else part for part in parts))


class Check:
    def __init__(self, root):
        self.root = root
        self.wrong = []
        self.ids = {}

    def say(self, element, what):
        path = "/".join(local(one) for one in [*reversed(list(element.iterancestors())), element])
        self.wrong.append(f"{path}: {what}")

    def children(self, element):
        """The names of the children of CDA's own; extensions may stand anywhere."""
        return [local(child) for child in element if etree.QName(child).namespace == V3]

    def ordered(self, element, text):
        names = self.children(element)
        if not compiled(text).fullmatch("".join(f"{name} " for name in names)):
            self.say(element, f"has children {' '.join(names) or '(none)'}, not {text}")

    def walk(self, element, parent=""):
        name = local(element)
        namespace = etree.QName(element).namespace
        if namespace not in (V3, SDTC):
            self.say(element, f"is of the namespace {namespace}")
            return
        null = element.get("nullFlavor")
        if null is not None and null not in NULLS:
            self.say(element, f"nullFlavor {null}")
        if name == "text" and parent == "section":
            self.narrative(element)
            return
        text = CLASSES.get(f"{parent}/{name}") or CLASSES.get(name)
        is_reference = name == "reference" and parent in {"text", "originalText", "value"}
        if text is not None and namespace == V3 and not is_reference:
            self.ordered(element, "realmCode* typeId? templateId* " + text)
            self.silent(element)
            allowed = STRUCTURAL
        else:
            self.data(element, name)
            allowed = STRUCTURAL | DATA
        for attribute in element.attrib:
            if attribute not in allowed and attribute != f"{{{XSI}}}type":
                self.say(element, f"attribute {attribute}")
        self.identify(element)
        for child in element:
            self.walk(child, name)

    def silent(self, element):
        texts = [element.text, *(child.tail for child in element)]
        if any(text and text.strip() for text in texts):
            self.say(element, "has text between its children")

    def identify(self, element):
        name = element.get("ID")
        if name is None:
            return
        if not re.fullmatch(r"[A-Za-z_][\w.-]*", name) or name in self.ids:
            self.say(element, "its ID is no name, or stands twice")
        self.ids[name] = element

    def data(self, element, name):
        kind = (element.get(f"{{{XSI}}}type") or "").split(":")[-1]
        text = BY_TYPE.get(kind) if kind else TYPES.get(name)
        if text is None and name == "code":
            text = CODED
        if text is not None:
            self.ordered(element, text)
        get = element.get
        if get("root") is not None and not re.fullmatch(f"{OID}|{UUID}", get("root")):
            self.say(element, "its root is neither an OID nor a UUID")
        if get("code") is not None and re.search(r"\s", get("code")):
            self.say(element, "white space in a code")
        if get("codeSystem") is not None and not re.fullmatch(OID, get("codeSystem")):
            self.say(element, "its code system is no OID")
        if get("unit") is not None and re.search(r"\s", get("unit")):
            self.say(element, "white space in a unit")
        value = get("value")
        if value is None:
            return
        if get("nullFlavor") is not None:
            self.say(element, "has a value and a nullFlavor")
        parent = local(element.getparent())
        of_time = name in TIMES and (name not in {"low", "high", "center"} or "ime" in parent)
        if kind in {"TS", "IVL_TS"} or of_time and not kind.startswith("PQ"):
            if not re.fullmatch(TIME, value):
                self.say(element, "its value is no point in time")
        elif kind in {"PQ", "INT", "REAL"} or get("unit") is not None:
            if not re.fullmatch(r"[+-]?[0-9]+(\.[0-9]+)?", value):
                self.say(element, "its value is no number")
        elif name == "telecom" and not re.fullmatch(r"(tel|fax|mailto|https?):[\w.~+()@/*%!$&',;=:-]+", value):
            self.say(element, "its value is no URL")

    def narrative(self, element):
        name = local(element)
        if name not in NARRATIVE:
            self.say(element, "has no place in a narrative")
            return
        for attribute in element.attrib:
            if attribute not in LAYOUT:
                self.say(element, f"attribute {attribute}")
        self.identify(element)
        if name in UNMIXED:
            self.silent(element)
        if name in MODELS:
            self.ordered(element, MODELS[name])
        for child in element:
            if local(child) not in NARRATIVE[name]:
                self.say(child, f"has no place in {name}")
            self.narrative(child)

    def references(self):
        for element in self.root.iter(etree.Element):
            names = [element.get("IDREF")] + (element.get("referencedObject") or "").split()
            if local(element) in {"reference", "linkHtml"}:
                target = element.get("value") or element.get("href") or ""
                names.append(target[1:] if target.startswith("#") else None)
            for name in names:
                if name is not None and name not in self.ids:
                    self.say(element, "refers to nothing")

    def header(self):
        """What C-CDA R2.1 requires of a US Realm Header."""
        required = [
            "realmCode[@code='US']",
            "typeId[@root='2.16.840.1.113883.1.3'][@extension='POCD_HD000040']",
            "templateId[@root='2.16.840.1.113883.10.20.22.1.1']",
            "id",
            "code[@code or @nullFlavor]",
            "title",
            "effectiveTime",
            "confidentialityCode[@code or @nullFlavor]",
            "languageCode[@code or @nullFlavor]",
            "recordTarget/patientRole/id",
            "recordTarget/patientRole/addr",
            "recordTarget/patientRole/telecom",
            "recordTarget/patientRole/patient/name",
            "recordTarget/patientRole/patient/administrativeGenderCode",
            "recordTarget/patientRole/patient/birthTime",
            "author/time",
            "author/assignedAuthor/id",
            "author/assignedAuthor/addr",
            "author/assignedAuthor/telecom",
            "custodian/assignedCustodian/representedCustodianOrganization/id",
            "custodian/assignedCustodian/representedCustodianOrganization/name",
            "custodian/assignedCustodian/representedCustodianOrganization/telecom",
            "custodian/assignedCustodian/representedCustodianOrganization/addr",
        ]
        for path in required:
            steps = "/".join(f"v:{step}" for step in path.split("/"))
            if not self.root.xpath(steps, namespaces={"v": V3}):
                self.say(self.root, f"has no {path}")
        patient = self.root.xpath("v:recordTarget/v:patientRole", namespaces={"v": V3})
        for name in self.root.xpath("v:recordTarget//v:patient/v:name", namespaces={"v": V3}):
            if name.get("nullFlavor") is None and not {"given", "family"} <= set(self.children(name)):
                self.say(name, "has no given or no family name")
        for addr in (one for role in patient for one in role.findall(f"{{{V3}}}addr")):
            if addr.get("nullFlavor") is None and not {"streetAddressLine", "city"} <= set(self.children(addr)):
                self.say(addr, "has no street or no city")
        for section in self.root.iter(f"{{{V3}}}section"):
            if section.find(f"{{{V3}}}templateId") is not None:
                for name in ("code", "title", "text"):
                    if section.find(f"{{{V3}}}{name}") is None:
                        self.say(section, f"has no {name}")


def check(data):
    root = etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True))
    found = Check(root)
    if root.tag != f"{{{V3}}}ClinicalDocument":
        return ["the root is no ClinicalDocument"]
    found.walk(root)
    found.references()
    found.header()
    return found.wrong


def main():
    failed = False
    for path in sys.argv[1:]:
        with open(path, "rb") as file:
            try:
                wrong = check(file.read())
            except etree.XMLSyntaxError as error:
                wrong = [str(error)]
        for line in wrong:
            print(f"{path}: {line}")
        failed |= bool(wrong)
    sys.exit(failed)


if __name__ == "__main__":
    main()
