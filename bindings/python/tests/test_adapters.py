"""Presidio, spaCy and pandas as their users have them."""

import pandas as pd
import pytest
import spacy
from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
from presidio_analyzer.nlp_engine import NlpArtifacts, NlpEngine
from presidio_anonymizer import AnonymizerEngine

import lethe
import lethe.pandas  # noqa: F401  (registers the accessor)
from lethe.presidio import LetheRecognizer


class BlankNlpEngine(NlpEngine):
    """Tokens of a blank spaCy pipeline: Presidio needs some, and Lethe needs no model of spaCy."""

    def __init__(self):
        self.nlp = spacy.blank("en")

    def load(self):
        """Nothing to load."""

    def is_loaded(self):
        return True

    def process_text(self, text, language):
        doc = self.nlp(text)
        return NlpArtifacts([], doc, [token.idx for token in doc], [token.lower_ for token in doc], self, language)

    def process_batch(self, texts, language, **_):
        return ((text, self.process_text(text, language)) for text in texts)

    def is_stopword(self, word, language):
        return False

    def is_punct(self, word, language):
        return False

    def get_supported_entities(self):
        return []

    def get_supported_languages(self):
        return ["en"]


@pytest.fixture(scope="module")
def analyzer(engine):
    registry = RecognizerRegistry(recognizers=[LetheRecognizer(engine)], supported_languages=["en"])
    return AnalyzerEngine(registry=registry, nlp_engine=BlankNlpEngine(), supported_languages=["en"])


def test_presidio_finds_what_lethe_finds_under_its_own_names(analyzer, engine, note):
    results = analyzer.analyze(note, language="en")
    found = sorted((result.start, result.end) for result in results)
    assert found == [(span.start, span.end) for span in engine.annotate(note)]
    assert {result.entity_type for result in results} <= set(LetheRecognizer(engine).supported_entities)
    assert {note[result.start : result.end] for result in results if result.entity_type == "PERSON"} == {
        "Okafor",
        "Henry Quill",
    }


def test_presidio_gets_only_the_entities_that_it_asks_for(analyzer, note):
    results = analyzer.analyze(note, language="en", entities=["DATE_TIME"], return_decision_process=True)
    assert [note[result.start : result.end] for result in results] == ["03/05/2021"]
    assert "DATE, found by" in results[0].analysis_explanation.textual_explanation


def test_the_anonymizer_of_presidio_takes_the_results(analyzer, note):
    results = analyzer.analyze(note, language="en")
    text = AnonymizerEngine().anonymize(note, results).text
    assert text.startswith("Seen by Dr. <PERSON> on <DATE_TIME>. <PERSON>, MRN ")


def test_a_spacy_pipeline_has_the_spans_and_the_redacted_text(note, redacted):
    nlp = spacy.blank("en")
    nlp.add_pipe("lethe", config={"bundle": "en-fast", "set_ents": True})
    doc = nlp(note)
    assert doc._.redacted == redacted
    found = [(span.text, span.label_) for span in doc.spans["lethe"]]
    assert ("Okafor", "DOCTOR") in found and ("03/05/2021", "DATE") in found
    assert [(ent.text, ent.label_) for ent in doc.ents] == found
    assert [doc._.redacted for doc in nlp.pipe([note, "No news."])] == [redacted, "No news."]


def test_entities_of_a_spacy_pipeline_give_way_where_they_overlap(note):
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "NAME", "pattern": "Dr. Okafor"}, {"label": "MOOD", "pattern": "better"}])
    nlp.add_pipe("lethe", config={"bundle": "en-fast", "set_ents": True})
    labels = [ent.label_ for ent in nlp(note).ents]
    assert "MOOD" in labels and "NAME" not in labels and "DOCTOR" in labels


def test_a_spacy_pipeline_with_the_component_is_found_by_its_name_after_saving(tmp_path, note, redacted):
    nlp = spacy.blank("en")
    nlp.add_pipe("lethe", config={"bundle": "en-fast"})
    nlp.to_disk(tmp_path / "pipeline")
    assert spacy.load(tmp_path / "pipeline")(note)._.redacted == redacted


def test_the_accessor_of_pandas_redacts_columns_and_tables(engine, note, redacted):
    frame = pd.DataFrame({"note": [note, None], "mrn": [1, 2]})
    assert frame["note"].lethe.redact(engine=engine)[0] == redacted
    after = frame.lethe.redact("note", patient="mrn", engine=engine)
    assert after["note"][0] == redacted and list(after["mrn"]) == [1, 2]
    default = pd.Series(["Seen by Dr. Okafor."]).lethe.redact()
    assert default[0] == "Seen by Dr. [DOCTOR]." == lethe.Engine().redact("Seen by Dr. Okafor.").text
    with pytest.raises(TypeError, match="only the columns of text"):
        frame.lethe.redact("note", "mrn")
