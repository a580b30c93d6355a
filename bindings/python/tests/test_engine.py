"""Notes one by one."""

import multiprocessing
import pickle
import threading

import pytest

import lethe


def test_the_default_bundle_redacts_by_label():
    engine = lethe.Engine()
    redacted = engine.redact("Seen by Dr. Okafor on 03/05/2021.")
    assert redacted.text == str(redacted) == "Seen by Dr. [DOCTOR] on [DATE]."
    assert [(span.label, span.start, span.end) for span in redacted.spans] == [("DOCTOR", 12, 18), ("DATE", 22, 32)]
    assert [redacted.text[start:end] for start, end in redacted.replacements] == ["[DOCTOR]", "[DATE]"]


def test_places_count_characters_as_python_does(engine):
    note = "Temp 38.5 °C 🙂 – seen by Dr. Okafor on 03/05/2021 🙂 by Dr. Quill."
    spans = engine.annotate(note)
    assert [note[span.start : span.end] for span in spans] == ["Okafor", "03/05/2021", "Quill"]
    redacted = engine.redact(note)
    assert redacted.spans == spans
    assert [redacted.text[start:end] for start, end in redacted.replacements] == ["[DOCTOR]", "[DATE]", "[DOCTOR]"]


def test_what_is_known_of_the_patient_is_redacted():
    engine = lethe.Engine("en-clinical")
    note = "The chart of quorx was checked."
    assert engine.redact(note).text == note
    assert engine.redact(note, known={"patient": "Ada Quorx"}).text == "The chart of [PATIENT] was checked."
    assert engine.redact(note, known={"patient": ["Eve", "Ada Quorx"]}).text == "The chart of [PATIENT] was checked."


def test_the_kinds_of_known_identifiers_are_listed(engine):
    for kind in lethe.known_kinds():
        engine.redact("No news.", known={kind: "1980-02-03"})
    with pytest.raises(ValueError, match="a key of `known` is not a kind of identifier; the kinds are patient, relative") as raised:
        engine.redact("No news.", known={"Henry Quill": "patient"})
    assert "Quill" not in str(raised.value)


def test_a_policy_decides_the_replacements(tmp_path):
    policy = 'mode = "safe-harbor"\n'
    file = tmp_path / "policy.toml"
    file.write_text(policy)
    note = "Seen on 03/05/2021."
    by_text = lethe.Engine("en-fast", policy_text=policy).redact(note).text
    assert lethe.Engine("en-fast", policy=file).redact(note).text == by_text
    assert "03/05" not in by_text
    with pytest.raises(ValueError, match="exclude each other"):
        lethe.Engine("en-fast", policy=file, policy_text=policy)


def test_keys_replace_those_that_the_policy_names(key_file):
    policy = 'mode = "custom"\ndefault = { action = "pseudonym" }\n'
    note = "Dr. Okafor called."
    named = policy + f'keys = {{ file = "{key_file("1")}" }}\n'
    by_policy = lethe.Engine("en-fast", policy_text=named).redact(note).text
    assert lethe.Engine("en-fast", policy_text=policy, keys=key_file("1")).redact(note).text == by_policy
    assert lethe.Engine("en-fast", policy_text=named, keys=key_file("2")).redact(note).text != by_policy


def test_files_that_cannot_be_used_are_named(tmp_path):
    with pytest.raises(lethe.BundleError, match="en-clinicl.*en-clinical"):
        lethe.Engine("en-clinicl")
    missing = tmp_path / "missing.toml"
    with pytest.raises(lethe.PolicyError, match="missing.toml"):
        lethe.Engine("en-fast", policy=missing)
    with pytest.raises(lethe.PolicyError, match="mode"):
        lethe.Engine("en-fast", policy_text='mode = "safe-harbour"\n')
    with pytest.raises(lethe.PolicyError, match="`keys` is set without a policy"):
        lethe.Engine("en-fast", keys=missing)
    with pytest.raises(lethe.DictionaryError, match="missing.toml"):
        lethe.Engine("en-fast", dictionary=missing)
    assert issubclass(lethe.BundleError, lethe.Error) and issubclass(lethe.BundleError, ValueError)


@pytest.mark.parametrize("value", [None, 7, b"Dr. Quill", ["Dr. Quill"], float("nan"), object()])
def test_what_is_no_text_is_a_type_error_without_the_value(engine, value):
    for call in (engine.redact, engine.annotate):
        with pytest.raises(TypeError) as raised:
            call(value)
        assert "Quill" not in str(raised.value)


def test_half_of_a_surrogate_pair_is_refused_without_the_text(engine):
    with pytest.raises(ValueError, match="surrogate") as raised:
        engine.redact("Dr. Quill \ud83d called.")
    assert "Quill" not in repr(raised.value) and raised.value.__context__ is None
    assert not isinstance(raised.value, UnicodeError)


def test_a_note_that_cannot_be_redacted_raises_its_code(refusing):
    with pytest.raises(lethe.QuarantineError) as raised:
        refusing.redact("Dr. Okafor called.")
    error = raised.value
    assert (error.code, error.row, error.column) == ("policy_refused", None, None)
    assert str(error) == "the note cannot be redacted (policy_refused)"
    assert refusing.redact("Dr. Okafor called.", patient="p-9").text == "Dr. [DOCTOR] called."


def test_a_quarantine_error_keeps_its_coordinates_between_processes():
    error = lethe.QuarantineError("over_budget", 3, "note")
    assert str(error) == "the note in row 3 of column `note` cannot be redacted (over_budget)"
    copy = pickle.loads(pickle.dumps(error))
    assert (copy.code, copy.row, copy.column, str(copy)) == ("over_budget", 3, "note", str(error))


def test_neither_a_result_nor_an_engine_shows_text(engine, note):
    redacted = engine.redact(note)
    shown = repr(redacted) + repr(redacted.spans) + repr(engine)
    assert "Okafor" not in shown and "better" not in shown
    assert repr(redacted.spans[0]).startswith("Span(start=12, end=18, label='DOCTOR', score=")


def test_an_engine_tells_of_its_bundle(engine):
    assert {"en-fast", "en-clinical"} <= set(lethe.builtin_bundles())
    assert "PATIENT" in engine.labels
    assert len(engine.members) >= 3
    assert len(engine.bundle_digest) == 64
    assert lethe.__version__.count(".") == 2


def test_threads_share_an_engine(engine, note, redacted):
    results = []
    threads = [threading.Thread(target=lambda: results.append(engine.redact(note).text)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [redacted] * 8


def _redact(engine, note):
    return engine.redact(note).text, engine.redact_batch(_column([note] * 200)).to_pylist()


def _column(values):
    import pyarrow as pa

    return pa.array(values)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_an_engine_works_in_a_process_that_was_started_after_its_threads(engine, note, redacted, method):
    # Threads of the parent have run before it forks.
    assert engine.redact_batch(_column([note] * 200), threads=2).to_pylist() == [redacted] * 200
    with multiprocessing.get_context(method).Pool(2) as pool:
        results = pool.starmap_async(_redact, [(engine, note)] * 4).get(timeout=120)
    assert results == [(redacted, [redacted] * 200)] * 4
