"""Writes Microsoft Presidio's predictions on Spanish notes, for an `external` member.

    pip install -r requirements.txt                     presidio-analyzer 2.2.366, spaCy 3.8.18
    python external_presidio.py IN.jsonl OUT.jsonl

IN has `doc_id` and `text` a line; OUT has both again and `spans` of `start`, `end` (code points) and `label`. The
pipeline is a blank one: it splits Spanish into words and knows no names, so all that is found comes from Presidio's own
patterns and checksums. Those for Spanish and those for no one country run; telephone numbers are read as in Spain.
"""
import logging

import external
import spacy
import tldextract
from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
from presidio_analyzer.nlp_engine import SpacyNlpEngine
from presidio_analyzer.predefined_recognizers import EsPassportRecognizer, PhoneRecognizer
from spacy.language import Language

LANGUAGE = "es"
# Below it are shapes that say little without a word before them: 12/80 for a month, three letters and six digits for a
# passport. On MEDDOCAN's training part all that is found below it is wrong.
LEAST_SCORE = 0.4
CATEGORIES = {
    "DATE_TIME": "DATE",
    "EMAIL_ADDRESS": "CONTACT",
    "IP_ADDRESS": "CONTACT",
    "PHONE_NUMBER": "CONTACT",
    "URL": "CONTACT",
    "CREDIT_CARD": "ID",
    "CRYPTO": "ID",
    "IBAN_CODE": "ID",
    "MAC_ADDRESS": "ID",
    "UUID": "ID",
    "ES_NIE": "ID",
    "ES_NIF": "ID",
    "ES_PASSPORT": "ID",
}


@Language.component("lower_case_lemmas")
def lower_case_lemmas(doc):
    """Provides lemmas, in which Presidio looks for context words and which a blank pipeline lacks."""
    for token in doc:
        token.lemma_ = token.lower_
    return doc


def analyzer():
    """Returns Presidio with every predefined recognizer for Spanish or for all countries."""
    # E-mail addresses are checked against the package's own list of public suffixes instead of a fetched one.
    tldextract.extract = tldextract.TLDExtract(cache_dir=None, suffix_list_urls=())
    logging.getLogger("presidio-analyzer").setLevel(logging.ERROR)
    pipeline = spacy.blank(LANGUAGE)
    pipeline.add_pipe("lower_case_lemmas")
    engine = SpacyNlpEngine(models=[{"lang_code": LANGUAGE, "model_name": "blank"}])
    engine.nlp = {LANGUAGE: pipeline}  # counts as loaded, so that Presidio loads no model
    registry = RecognizerRegistry(supported_languages=[LANGUAGE])
    registry.load_predefined_recognizers(languages=[LANGUAGE], nlp_engine=engine, countries=["es"])
    registry.remove_recognizer("PhoneRecognizer")
    registry.add_recognizer(PhoneRecognizer(supported_language=LANGUAGE, supported_regions=("ES",)))
    registry.add_recognizer(EsPassportRecognizer())  # Presidio has it, turned off
    return AnalyzerEngine(registry, engine, supported_languages=[LANGUAGE], default_score_threshold=LEAST_SCORE)


def finder():
    """Returns Presidio's predictions on a text."""
    presidio = analyzer()

    def find(text):
        results = presidio.analyze(text, LANGUAGE)
        return [(r.start, r.end, CATEGORIES[r.entity_type]) for r in results if r.entity_type in CATEGORIES]

    return find


if __name__ == "__main__":
    external.run(__doc__, finder())
