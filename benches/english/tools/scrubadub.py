"""scrubadub for US English, with the detectors that it turns on: `python -m tools.scrubadub IN OUT COST [--optional] [--model FOLDER]`.

With --optional its detectors of dates of birth and of names (TextBlob) run too. Names are looked for sentence by sentence; the splitter of
sentences that TextBlob would download is replaced by a regular expression. With --model the detector of dates of birth runs, and the spaCy
pipeline of train_spacy.py finds people, places and organisations. That detector does what the makers' `scrubadub_spacy` does, which needs
PyTorch to import and takes no model but those it can download. The detector of addresses needs libpostal and its downloaded data.
"""
import argparse
import re

import scrubadub

from tools import common

CATEGORIES = {
    "email": "CONTACT",
    "phone": "CONTACT",
    "skype": "CONTACT",
    "twitter": "CONTACT",
    "url": "CONTACT",
    "credit_card": "ID",
    "drivers_licence": "ID",
    "social_security_number": "ID",
    "vehicle_licence_plate": "ID",
    "credential": "NAME",  # a user name, with the password behind it
    "name": "NAME",
    "address": "LOCATION",
    "location": "LOCATION",
    "organization": "LOCATION",
    "postalcode": "LOCATION",
    "date_of_birth": "DATE",
}


def category(filth):
    """Findings that touch come as one, of several types: it has a category where all of them have that one."""
    categories = {CATEGORIES.get(part.type) for part in getattr(filth, "filths", [filth])}
    return categories.pop() or "OTHER" if len(categories) == 1 else "OTHER"


def add_birthdays(scrubber):
    from scrubadub.detectors.date_of_birth import DateOfBirthDetector

    scrubber.add_detector(DateOfBirthDetector)


def add_names(scrubber):
    from nltk.tokenize import TreebankWordTokenizer
    from scrubadub.detectors.text_blob import TextBlobNameDetector
    from textblob import tokenizers

    def sentences(self, text, *_, **__):
        return [each for each in re.split(r"(?<=[.!?])\s+", text) if each]

    def words(self, text, include_punc=True):
        found = TreebankWordTokenizer().tokenize(text)
        return found if include_punc else [each for each in found if any(map(str.isalnum, each))]

    tokenizers.SentenceTokenizer.tokenize = tokenizers.SentenceTokenizer.itokenize = sentences
    tokenizers.WordTokenizer.tokenize = words
    scrubber.add_detector(TextBlobNameDetector)


def add_entities(scrubber, model):
    import spacy
    from scrubadub.filth import LocationFilth, NameFilth, OrganizationFilth

    pipeline = spacy.load(model)

    class EntityDetector(scrubadub.detectors.Detector):
        name = "entities"
        kinds = {"PERSON": NameFilth, "LOC": LocationFilth, "ORG": OrganizationFilth}

        def iter_filth(self, text, document_name=None):
            for entity in pipeline(text).ents:
                if entity.label_ in self.kinds:
                    yield self.kinds[entity.label_](
                        beg=entity.start_char, end=entity.end_char, text=entity.text, detector_name=self.name, document_name=document_name
                    )

    scrubber.add_detector(EntityDetector())


def finder(optional=False, model=None):
    scrubber = scrubadub.Scrubber(locale="en_US")
    if optional or model:
        add_birthdays(scrubber)
    if optional:
        add_names(scrubber)
    if model:
        add_entities(scrubber, model)

    def find(text):
        return [(filth.beg, filth.end, category(filth)) for filth in scrubber.iter_filth(text)]

    return find


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--optional", action="store_true")
    parser.add_argument("--model")
    asked = parser.parse_args(common.options())
    common.run("scrubadub", finder(asked.optional, asked.model))
