"""Tables and columns of other libraries."""

import os
import signal
import sys
import threading
import time

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import lethe

POLICY = 'mode = "custom"\ndefault = { action = "tag", numbered = "note" }\n'


def text_types():
    strings = [pa.string(), pa.large_string(), pa.string_view()]
    dictionaries = [pa.dictionary(index, pa.string()) for index in (pa.int8(), pa.uint32())]
    return [*strings, *dictionaries, pa.dictionary(pa.int32(), pa.large_string())]


@pytest.mark.parametrize("kind", text_types(), ids=str)
def test_a_column_keeps_its_type_and_its_missing_notes(engine, note, redacted, kind):
    column = pa.array([note, None, "", note, "No news."], pa.string()).cast(kind)
    result = engine.redact_batch(column)
    assert result.type == kind
    assert result.cast(pa.string()).to_pylist() == [redacted, None, "", redacted, "No news."]
    result.validate(full=True)


@pytest.mark.parametrize("kind", text_types(), ids=str)
def test_slices_and_chunks_are_read_from_their_first_row(engine, note, redacted, kind):
    column = pa.array([None, "x", note, "y", None, note], pa.string()).cast(kind)
    chunked = pa.chunked_array([column.slice(2, 2), column.slice(0, 0), column.slice(4)])
    result = engine.redact_batch(chunked)
    assert [len(chunk) for chunk in result.chunks] == [2, 0, 2]
    assert result.cast(pa.string()).to_pylist() == [redacted, "y", None, redacted]


def test_empty_columns_and_columns_of_nulls_stay_as_they_are(engine):
    for column in (pa.array([], pa.string()), pa.nulls(3), pa.nulls(3, pa.string()), pa.chunked_array([], pa.string())):
        result = engine.redact_batch(column)
        assert result.equals(column) and result.type == column.type


def table(note):
    return pa.table(
        {
            "id": pa.array([11, 12, 13], pa.int32()),
            "note": [note, None, "The chart of quorx was checked."],
            "comment": pa.array(["Dr. Okafor called.", "", None]).dictionary_encode(),
            "name": ["Henry Quill", None, "Ada Quorx"],
            "born": pa.array([0, 1, None], pa.date32()),
            "values": [[1, 2], None, []],
        }
    ).replace_schema_metadata({"made by": "a test"})


def test_other_columns_of_a_table_and_its_metadata_stay(engine, note, redacted):
    before = table(note)
    for data in (before, before.to_batches()[0]):
        after = engine.redact_batch(data, text=["note", "comment"], id="id", patient="id", known={"birth_date": "born"})
        assert type(after) is type(data)
        assert after.schema.equals(data.schema, check_metadata=True)
        assert after.column("note").to_pylist()[:2] == [redacted, None]
        assert after.column("comment").to_pylist() == ["Dr. [DOCTOR] called.", "", None]
        for name in ("id", "name", "born", "values"):
            assert after.column(name).equals(data.column(name))


def test_what_other_columns_know_of_the_patient_is_redacted(engine, note):
    data = table(note)
    without = engine.redact_batch(data, text="note").column("note").to_pylist()
    known = engine.redact_batch(data, text="note", known={"patient": ["name"]}).column("note").to_pylist()
    assert "quorx" in without[2]
    assert known[2] == "The chart of [PATIENT] was checked."


def test_rows_have_the_results_of_notes_by_themselves(tmp_path):
    engine = lethe.Engine("en-fast", policy_text=POLICY)
    notes = [f"Dr. Okafor called Henry Quill on 0{1 + n % 9}/05/2021 about room {n}." for n in range(1000)]
    alone = [engine.redact(note).text for note in notes]
    for threads in (1, 2, 7):
        assert engine.redact_batch(pa.array(notes), threads=threads).to_pylist() == alone


def test_polars_tables_and_columns_stay_of_polars(engine, note, redacted):
    frame = pl.DataFrame(
        {"n": [1, 2], "note": [note, None], "who": ["Ada", "Eve"], "when": [[1.5], None]},
    ).with_columns(pl.col("note").cast(pl.Categorical).alias("kind"))
    after = engine.redact_batch(frame, text=["note", "kind"], patient="n", known={"patient": "who"})
    assert after.schema == frame.schema
    assert after["note"].to_list() == [redacted, None]
    assert after["kind"].to_list() == [redacted, None]
    assert after.drop("note", "kind").equals(frame.drop("note", "kind"))
    column = engine.redact_batch(frame["note"])
    assert (column.name, column.dtype, column.to_list()) == ("note", pl.String, [redacted, None])
    with pytest.raises(TypeError, match="LazyFrame.*collect"):
        engine.redact_batch(frame.lazy(), text="note")


@pytest.mark.parametrize("dtype", ["object", "str", "string", "string[pyarrow]", "category"])
def test_pandas_columns_keep_their_type_index_and_missing_values(engine, note, redacted, dtype):
    values = pd.Series([note, None, "No news.", float("nan")], index=[7, 7, 2, 1], name="note", dtype=object)
    series = values.astype(dtype)
    after = engine.redact_batch(series)
    expected = pd.Series([redacted, None, "No news.", float("nan")], index=[7, 7, 2, 1], name="note", dtype=object)
    if dtype == "object":
        expected.iloc[1] = None
    pd.testing.assert_series_equal(after, expected.astype(dtype))


def test_pandas_tables_keep_columns_that_arrow_cannot_have(engine, note, redacted):
    marker = object()
    frame = pd.DataFrame({"note": [note, "No news."], "mrn": [4, 5], "any": [marker, {1: 2}]}, index=["b", "a"])
    before = frame.copy()
    after = engine.redact_batch(frame, text="note", patient="mrn")
    assert list(after["note"]) == [redacted, "No news."]
    assert after["any"].iloc[0] is marker
    pd.testing.assert_frame_equal(after.drop(columns="note"), before.drop(columns="note"))
    pd.testing.assert_frame_equal(frame, before)


def test_a_relation_of_duckdb_becomes_arrow_data(engine, note, redacted):
    relation = duckdb.sql("SELECT 1 AS n, ? AS note UNION ALL SELECT 2, NULL ORDER BY n", params=[note])
    after = engine.redact_batch(relation, text="note")
    assert isinstance(after, lethe.ArrowData) and len(after) == 2
    assert pa.table(after).to_pylist() == [{"n": 1, "note": redacted}, {"n": 2, "note": None}]
    assert pl.DataFrame(after)["note"].to_list() == [redacted, None]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "`text` is missing.*id, note"),
        ({"text": "note", "patient": "mrn"}, "no column is named `mrn`; there are id, note"),
        ({"text": ["note", "absent"]}, "no column is named `absent`"),
        ({"text": "note", "known": {"patient": "absent"}}, "no column is named `absent`"),
        ({"text": "note", "known": {"pateint": "name"}}, "a key of `known` is not a kind of identifier; the kinds are patient"),
        ({"text": "note", "errors": "ignore"}, "`errors` is neither"),
        ({"text": "note", "threads": 0}, "`threads` is less than 1"),
    ],
)
def test_mistakes_are_named(engine, note, arguments, message):
    data = table(note)
    for frame in (data, data.to_batches()[0], pl.DataFrame(data), data.to_pandas()):
        with pytest.raises(ValueError, match=message):
            engine.redact_batch(frame, **arguments)
    relation = duckdb.from_arrow(data)
    with pytest.raises(ValueError, match=message.replace("no column", ".*no column")):
        engine.redact_batch(relation, **arguments)


def test_columns_without_text_are_named_with_their_type_and_without_values(engine, note):
    data = table(note)
    with pytest.raises(TypeError, match="column `born` has the type Date32: only text is redacted"):
        engine.redact_batch(data, text="born")
    with pytest.raises(TypeError, match="column `values` has the type List"):
        engine.redact_batch(data, text="note", patient="values")
    mixed = pd.DataFrame({"note": ["Henry Quill", 7, {}]})
    with pytest.raises(TypeError, match="column `note` holds values of several types") as raised:
        engine.redact_batch(mixed, text="note")
    assert "Quill" not in repr(raised.value) and raised.value.__context__ is None
    for data in (None, 7, "Henry Quill", ["Henry Quill"], {"note": ["Henry Quill"]}):
        with pytest.raises(TypeError, match="neither a table nor a column") as raised:
            engine.redact_batch(data)
        assert "Quill" not in str(raised.value)


def test_options_for_tables_are_refused_for_a_column(engine, note):
    for column in (pa.array([note]), pl.Series([note]), pd.Series([note])):
        with pytest.raises(ValueError, match="single column"):
            engine.redact_batch(column, text="note")


def test_a_dictionary_without_room_for_the_results_is_refused_with_a_way_on():
    engine = lethe.Engine("en-fast", policy_text=POLICY)
    notes = pa.array(["n", *(f"Dr. Okafor called {'x ' * n}." for n in range(127))])
    column = pa.DictionaryArray.from_arrays(pa.array([n % 128 for n in range(200)], pa.int8()), notes)
    assert len(engine.redact_batch(column)) == 200


def test_the_audit_has_a_row_for_each_identifier_and_no_text(engine, note):
    notes = ["No news.", note, None, "Größe 🙂, Dr. Okafor"]
    expected = [
        (row, column, span.label, span.start, span.end, *replacement)
        for row, text in enumerate(notes)
        for column in ("note", "copy")
        if text is not None
        for redacted in [engine.redact(text)]
        for span, replacement in zip(redacted.spans, redacted.replacements)
    ]
    data = pa.table({"note": notes, "copy": notes})
    chunked = pa.concat_tables([data.slice(0, 2), data.slice(2)])
    frames = (data, chunked, pl.DataFrame(data), data.to_pandas())
    for frame in frames:
        after, audit = engine.redact_batch(frame, text=["note", "copy"], audit=True)
        assert type(after) is type(frame)
        audit = audit if isinstance(audit, pa.Table) else pa.table(audit)
        columns = ["row", "column", "label", "start", "end", "replacement_start", "replacement_end"]
        assert sorted(zip(*(audit.column(name).to_pylist() for name in columns))) == sorted(expected)
        assert set(audit.column_names) == {*columns, "score", "members"}
        assert "Okafor" not in str(audit.to_pydict())
    _, audit = engine.redact_batch(pa.array(notes), audit=True)
    assert audit.column("column").null_count == len(audit) == len(expected) // 2


@pytest.mark.parametrize("threads", [1, 3])
def test_the_first_note_that_cannot_be_redacted_is_named_by_row_and_column(refusing, threads):
    rows = 1000
    patients = [None if row in (411, 412, 900) else row for row in range(rows)]
    data = pa.table({"note": ["Dr. Okafor called."] * rows, "patient": patients}).to_batches(max_chunksize=300)
    with pytest.raises(lethe.QuarantineError) as raised:
        refusing.redact_batch(pa.Table.from_batches(data), text="note", patient="patient", threads=threads)
    assert (raised.value.code, raised.value.row, raised.value.column) == ("policy_refused", 411, "note")


def test_notes_that_cannot_be_redacted_become_null_if_the_caller_says_so(refusing):
    schema = pa.schema([pa.field("note", pa.string(), nullable=False), pa.field("patient", pa.int64())])
    data = pa.table([["Dr. Okafor called."] * 3, [1, None, 2]], schema=schema)
    after = refusing.redact_batch(data, text="note", patient="patient", errors="null")
    assert after.column("note").to_pylist() == ["Dr. [DOCTOR] called.", None, "Dr. [DOCTOR] called."]
    assert after.schema.field("note").nullable
    whole = refusing.redact_batch(data.slice(2), text="note", patient="patient", errors="null")
    assert whole.schema == schema


def test_damaged_arrays_are_refused(engine):
    broken = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(b"\0\0\0\0\xff\0\0\0\5\0\0\0"), pa.py_buffer(b"Quill")]
    )
    with pytest.raises(ValueError, match="the column is not a valid array of the type Utf8"):
        engine.redact_batch(broken)
    not_unicode = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\5\0\0\0"), pa.py_buffer(b"Qu\xff\xfell")]
    )
    with pytest.raises(ValueError, match="the column is not a valid array of the type Utf8"):
        engine.redact_batch(not_unicode)


def test_progress_counts_every_note_once(engine, note, monkeypatch):
    tqdm = pytest.importorskip("tqdm.auto")
    counted = []

    class Bar(tqdm.tqdm):
        def update(self, n=1):
            counted.append((self.total, n))
            return super().update(n)

    monkeypatch.setattr(tqdm, "tqdm", Bar)
    data = pa.table({"a": [note] * 500, "b": [note] * 500})
    engine.redact_batch(data, text=["a", "b"], progress=True)
    assert {total for total, _ in counted} == {1000}
    assert sum(count for _, count in counted) == 1000


def test_ctrl_c_ends_a_long_call(engine, note):
    # Shells start what they run in the background without it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    column = pa.array([note * 20] * 200_000)
    interrupt = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    interrupt.start()
    with pytest.raises(KeyboardInterrupt):
        engine.redact_batch(column)
    signal.signal(signal.SIGINT, before)
    # The engine is as usable as before.
    assert engine.redact(note).text


def test_other_threads_run_during_a_call(engine, note):
    column = pa.array([note] * 20_000)
    counted, done = 0, threading.Event()

    def call():
        engine.redact_batch(column, threads=1)
        done.set()

    thread = threading.Thread(target=call)
    thread.start()
    while not done.is_set():
        counted += 1
        time.sleep(0.001)
    thread.join()
    assert counted > 10
