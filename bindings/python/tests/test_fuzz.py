"""Arrays and objects that nobody passes on purpose: each call returns, or raises an exception of the package without text of a note."""

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lethe

#: In every string, so that a message with text of a note shows it.
CANARY = "Quillfeather"

TEXT = st.text(max_size=40).map(lambda text: text + CANARY)
STRINGS = st.sampled_from([pa.string(), pa.large_string(), pa.string_view()])
INDEXES = st.sampled_from([pa.int8(), pa.uint16(), pa.int32(), pa.uint64()])
OTHERS = st.sampled_from(
    [
        pa.null(),
        pa.bool_(),
        pa.int64(),
        pa.uint8(),
        pa.float64(),
        pa.binary(),
        pa.binary(4),
        pa.date64(),
        pa.timestamp("ns", "UTC"),
        pa.duration("s"),
        pa.decimal128(9, 2),
        pa.month_day_nano_interval(),
        pa.list_(pa.string()),
        pa.map_(pa.string(), pa.int8()),
        pa.struct({"a": pa.string()}),
        pa.dense_union([pa.field("a", pa.string())]),
        pa.run_end_encoded(pa.int32(), pa.string()),
        pa.dictionary(pa.int8(), pa.int64()),
    ]
)
SETTINGS = settings(
    max_examples=400, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@st.composite
def text_columns(draw):
    """A column of text of any layout, cut anywhere."""
    values = draw(st.lists(st.none() | TEXT, max_size=20))
    column = pa.array(values, pa.string()).cast(draw(STRINGS))
    # pyarrow cannot decode a dictionary of views.
    if column.type != pa.string_view() and draw(st.booleans()):
        column = column.dictionary_encode().cast(pa.dictionary(draw(INDEXES), column.type))
    start = draw(st.integers(0, len(column)))
    return column.slice(start, draw(st.integers(0, len(column) - start)))


@st.composite
def damaged_columns(draw):
    """A column of which anything but the ends of its offsets may be wrong: those no reader can check."""
    text = draw(st.binary(max_size=20)) + CANARY.encode()
    inner = draw(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=5))
    offsets = pa.array([0, *inner, len(text)], pa.int32()).buffers()[1]
    return pa.Array.from_buffers(pa.string(), len(inner) + 1, [None, offsets, pa.py_buffer(text)])


@st.composite
def dictionaries(draw):
    """A dictionary column whose indexes may point anywhere."""
    indexes = pa.array(draw(st.lists(st.none() | st.integers(-128, 127), max_size=10)), pa.int8())
    values = pa.array(draw(st.lists(st.none() | TEXT, max_size=5)), pa.string())
    return pa.DictionaryArray.from_arrays(indexes, values, safe=False)


@st.composite
def tables(draw):
    """A table with columns of any type, and names that may occur twice."""
    rows = draw(st.integers(0, 5))
    names, columns = [], []
    for _ in range(draw(st.integers(1, 4))):
        names.append(draw(st.sampled_from(["note", "id", "", "`"])))
        if draw(st.booleans()):
            columns.append(pa.array(draw(st.lists(st.none() | TEXT, min_size=rows, max_size=rows)), draw(STRINGS)))
        else:
            columns.append(pa.nulls(rows, draw(OTHERS)))
    return pa.table(columns, names=names)


def outcome(call):
    """Return the result of a call, or nothing if it raises what it may."""
    try:
        return call()
    except (lethe.QuarantineError, TypeError, ValueError) as error:
        assert CANARY not in repr(error)
        assert error.__context__ is None
        return None


@SETTINGS
@given(text_columns())
def test_text_of_every_layout_has_the_results_of_notes_by_themselves(engine, column):
    texts = column.cast(pa.large_string()).to_pylist()
    result = engine.redact_batch(column, threads=1)
    result.validate(full=True)
    expected = [None if text is None else engine.redact(text).text for text in texts]
    assert result.cast(pa.large_string()).to_pylist() == expected and result.type == column.type


@SETTINGS
@given(damaged_columns() | dictionaries())
def test_damaged_columns_are_refused_or_redacted(engine, column):
    result = outcome(lambda: engine.redact_batch(column, threads=1))
    if result is not None:
        column.validate(full=True)
        result.validate(full=True)


@SETTINGS
@given(OTHERS, st.integers(0, 3))
def test_columns_of_other_types_are_refused(engine, kind, rows):
    column = pa.nulls(rows, kind)
    result = outcome(lambda: engine.redact_batch(column, threads=1))
    assert (result is not None) == (kind == pa.null())


class Odd:
    """Calls itself an Arrow producer, and gives something else."""

    def __init__(self, given):
        self.given = given

    def __arrow_c_stream__(self, requested_schema=None):
        if isinstance(self.given, Exception):
            raise self.given
        return self.given


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT | st.binary() | st.builds(object),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)


@SETTINGS
@given(ODD)
def test_odd_objects_are_refused(engine, odd):
    for call in (engine.redact_batch, lambda odd: engine.redact_batch(odd, text="note")):
        assert outcome(lambda: call(odd)) is None
        assert outcome(lambda: call(Odd(odd))) is None
    if not isinstance(odd, str):
        assert outcome(lambda: engine.redact(odd)) is None
        assert outcome(lambda: engine.annotate(odd)) is None


@pytest.mark.parametrize("error", [RuntimeError(CANARY), UnicodeDecodeError("utf-8", CANARY.encode(), 0, 1, CANARY)])
def test_what_a_producer_raises_reaches_the_caller_as_it_is(engine, error):
    with pytest.raises(type(error)) as raised:
        engine.redact_batch(Odd(error), text="note")
    assert raised.value is error


@SETTINGS
@given(tables(), st.lists(st.sampled_from(["note", "id", "", "`"]), max_size=3))
def test_tables_of_any_shape_are_redacted_or_refused(engine, table, text):
    options = {"text": text, "id": "id" if "id" in table.column_names else None, "threads": 1, "audit": True}
    result = outcome(lambda: engine.redact_batch(table, **options))
    if result is not None:
        redacted, _ = result
        assert redacted.num_rows == table.num_rows and redacted.schema.names == table.schema.names
