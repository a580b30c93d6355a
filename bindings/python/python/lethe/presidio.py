"""Lethe as a recogniser of Presidio: ``pip install lethe-deid[presidio]``.

>>> from presidio_analyzer import AnalyzerEngine
>>> from lethe.presidio import LetheRecognizer
>>> analyzer = AnalyzerEngine(...)
>>> analyzer.registry.add_recognizer(LetheRecognizer())
"""

from __future__ import annotations

from typing import Any, Optional

from presidio_analyzer import AnalysisExplanation, EntityRecognizer, RecognizerResult

from lethe.engine import Engine


class LetheRecognizer(EntityRecognizer):
    """Finds what an engine finds, under Presidio's names: see the table of ``lethe serve``.

    Args:
        engine: The engine. Default: the bundle ``en-clinical``.
        supported_language: The language that Presidio asks it for; the bundle decides what it can read.
        name: The recogniser's name in Presidio's results.
    """

    def __init__(
        self, engine: Optional[Engine] = None, supported_language: str = "en", name: str = "LetheRecognizer"
    ) -> None:
        self.engine = engine or Engine()
        self.name: str
        self._entities = {label: self.engine.presidio_entity(label) or "ID" for label in self.engine.labels}
        super().__init__(
            supported_entities=sorted(set(self._entities.values())),
            name=name,
            supported_language=supported_language,
        )

    def load(self) -> None:
        """Do nothing: the engine is open."""

    def analyze(self, text: str, entities: list[str], nlp_artifacts: Any = None) -> list[RecognizerResult]:
        """Return the identifiers of a text. An empty list of entities stands for all of them."""
        return [
            RecognizerResult(
                entity_type=entity,
                start=span.start,
                end=span.end,
                score=span.score,
                analysis_explanation=AnalysisExplanation(
                    recognizer=self.name,
                    original_score=span.score,
                    textual_explanation=f"{span.label}, found by {', '.join(span.members) or 'another occurrence'}",
                ),
                recognition_metadata={
                    RecognizerResult.RECOGNIZER_NAME_KEY: self.name,
                    RecognizerResult.RECOGNIZER_IDENTIFIER_KEY: self.id,
                },
            )
            for span in self.engine.annotate(text)
            if (entity := self._entities[span.label]) in (entities or self.supported_entities)
        ]
