"""Microsoft Presidio with all that it turns on for English, over a blank spaCy pipeline, which knows no names.

A model that finds names would have to be downloaded; what is measured is Presidio's own patterns and checksums.
"""
import logging

import spacy
import tldextract
from presidio_analyzer import AnalyzerEngine
from presidio_analyzer.nlp_engine import SpacyNlpEngine
from spacy.language import Language

from tools import common

CATEGORIES = {
    "PERSON": "NAME",
    "LOCATION": "LOCATION",
    "ORGANIZATION": "LOCATION",
    "DATE_TIME": "DATE",
    "AGE": "AGE",
    "EMAIL_ADDRESS": "CONTACT",
    "IP_ADDRESS": "CONTACT",
    "PHONE_NUMBER": "CONTACT",
    "URL": "CONTACT",
    "CREDIT_CARD": "ID",
    "CRYPTO": "ID",
    "IBAN_CODE": "ID",
    "MAC_ADDRESS": "ID",
    "MEDICAL_LICENSE": "ID",
    "UK_NHS": "ID",
    "US_BANK_NUMBER": "ID",
    "US_DRIVER_LICENSE": "ID",
    "US_ITIN": "ID",
    "US_PASSPORT": "ID",
    "US_SSN": "ID",
    "UUID": "ID",
}


@Language.component("lower_case_lemmas")
def lower_case_lemmas(doc):
    """Provides lemmas, in which Presidio looks for context words and which a blank pipeline lacks."""
    for token in doc:
        token.lemma_ = token.lower_
    return doc


def finder():
    # Uses the package's own list of public suffixes instead of fetching one.
    tldextract.extract = tldextract.TLDExtract(cache_dir=None, suffix_list_urls=())
    logging.getLogger("presidio-analyzer").setLevel(logging.ERROR)
    pipeline = spacy.blank("en")
    pipeline.add_pipe("lower_case_lemmas")
    engine = SpacyNlpEngine(models=[{"lang_code": "en", "model_name": "blank"}])
    engine.nlp = {"en": pipeline}  # counts as loaded, so that Presidio loads no model
    presidio = AnalyzerEngine(nlp_engine=engine, supported_languages=["en"])

    def find(text):
        # For the same characters the type with the higher score counts, as in Presidio's anonymizer.
        results = sorted(presidio.analyze(text, "en"), key=lambda result: -result.score)
        return [(r.start, r.end, CATEGORIES.get(r.entity_type, "OTHER")) for r in results]

    return find


if __name__ == "__main__":
    common.run("presidio-analyzer", finder())
