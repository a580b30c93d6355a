"""Microsoft Presidio with all that it turns on for English: `python -m tools.presidio IN OUT COST [--model FOLDER] [--all-us]`.

Without a model it runs over a blank spaCy pipeline, which knows no names: what is measured is its own patterns and checksums. With --model
the pipeline of train_spacy.py finds entities, by Presidio's default mapping, and none of them is ignored (Presidio's file for the downloadable
models ignores organisations). With --all-us the recognizers for US identifiers that are turned off by default run too. Context words are on,
and the score threshold is the default, 0.
"""
import argparse
import logging

import spacy
import tldextract
from presidio_analyzer import AnalyzerEngine, predefined_recognizers
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
    "ABA_ROUTING_NUMBER": "ID",
    "CREDIT_CARD": "ID",
    "CRYPTO": "ID",
    "IBAN_CODE": "ID",
    "ID": "ID",
    "MAC_ADDRESS": "ID",
    "MEDICAL_LICENSE": "ID",
    "UK_NHS": "ID",
    "US_BANK_NUMBER": "ID",
    "US_CLAIM_NUMBER": "ID",
    "US_DRIVER_LICENSE": "ID",
    "US_HEALTH_INSURANCE_MEMBER_ID": "ID",
    "US_ITIN": "ID",
    "US_MBI": "ID",
    "US_NPI": "ID",
    "US_PASSPORT": "ID",
    "US_PRESCRIPTION_NUMBER": "ID",
    "US_PRIOR_AUTHORIZATION_NUMBER": "ID",
    "US_PROVIDER_TAX_ID": "ID",
    "US_REFERRAL_NUMBER": "ID",
    "US_SSN": "ID",
    "UUID": "ID",
}


@Language.component("lower_case_lemmas")
def lower_case_lemmas(doc):
    """Provides lemmas, in which Presidio looks for context words and which a blank pipeline lacks."""
    for token in doc:
        token.lemma_ = token.lower_
    return doc


def add_us(registry):
    """Turns on the recognizers for US identifiers that are off by default."""
    present = {type(recognizer) for recognizer in registry.recognizers}
    every = (getattr(predefined_recognizers, name) for name in predefined_recognizers.__all__)
    for each in every:
        if getattr(each, "COUNTRY_CODE", None) == "us" and each not in present:
            registry.add_recognizer(each())


def finder(model=None, all_us=False):
    # Uses the package's own list of public suffixes instead of fetching one.
    tldextract.extract = tldextract.TLDExtract(cache_dir=None, suffix_list_urls=())
    logging.getLogger("presidio-analyzer").setLevel(logging.ERROR)
    pipeline = spacy.load(model) if model else spacy.blank("en")
    pipeline.add_pipe("lower_case_lemmas")
    engine = SpacyNlpEngine(models=[{"lang_code": "en", "model_name": "own"}])
    engine.nlp = {"en": pipeline}  # counts as loaded, so that Presidio loads no model
    presidio = AnalyzerEngine(nlp_engine=engine, supported_languages=["en"])
    if all_us:
        add_us(presidio.registry)

    def find(text):
        # For the same characters the type with the higher score counts, as in Presidio's anonymizer.
        results = sorted(presidio.analyze(text, "en"), key=lambda result: -result.score)
        return [(r.start, r.end, CATEGORIES.get(r.entity_type, "OTHER")) for r in results]

    return find


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model")
    parser.add_argument("--all-us", action="store_true")
    asked = parser.parse_args(common.options())
    common.run("presidio-analyzer", finder(asked.model, asked.all_us))
