"""DataFog's regular expressions for English: `python -m tools.datafog IN OUT COST [--model FOLDER]`.

With --model its default engine, `smart`, runs: the regular expressions, and the spaCy pipeline of train_spacy.py in place of the one that it
would ask to download. GLiNER, which `smart` prefers, is a downloaded model and does not run.
"""
import argparse
import warnings

from datafog.processing.text_processing.regex_annotator import RegexAnnotator

from tools import common

CATEGORIES = {
    "DOB": "DATE",  # any date, of birth or not
    "DATE": "DATE",
    "EMAIL": "CONTACT",
    "IP_ADDRESS": "CONTACT",
    "PHONE": "CONTACT",
    "URL": "CONTACT",
    "CREDIT_CARD": "ID",
    "SSN": "ID",
    "ADDRESS": "LOCATION",
    "LOCATION": "LOCATION",
    "ORGANIZATION": "LOCATION",
    "ZIP": "LOCATION",
    "ZIP_CODE": "LOCATION",
    "PERSON": "NAME",
}


def patterns():
    datafog = RegexAnnotator()

    def find(text):
        _, result = datafog.annotate_with_spans(text)
        return [(span.start, span.end, CATEGORIES.get(span.label, "OTHER")) for span in result.spans]

    return find


def smart(model):
    # Here, so that the patterns alone are measured without spaCy in memory.
    import spacy
    from datafog.engine import scan
    from datafog.processing.text_processing.spacy_pii_annotator import SpacyPIIAnnotator

    pipeline = spacy.load(model)
    SpacyPIIAnnotator.create = classmethod(lambda cls: cls(nlp=pipeline, model_name=str(model)))
    warnings.filterwarnings("ignore", message="GLiNER not available")

    def find(text):
        found = scan(text).entities
        # An entity that it cannot place in the text has a negative start.
        return [(each.start, each.end, CATEGORIES.get(each.type, "OTHER")) for each in found if each.start >= 0]

    return find


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model")
    model = parser.parse_args(common.options()).model
    common.run("datafog", smart(model) if model else patterns())
