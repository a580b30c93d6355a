"""Lethe in the executors of Spark: ``pip install lethe-deid[spark]`` on the driver and on every executor.

>>> import lethe.spark
>>> redacted = lethe.spark.redact(df, text="note", id="note_id", patient="mrn")

Rows are redacted where they are, by ``mapInArrow``: each depends on its note, its patient and the keys alone, so that a
task that is repeated or run twice has the same rows. Structured streaming works in the same way.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, Optional, Union, overload

# Not only for type checkers: Spark reads the types of functions to see how to call them.
import pandas as pd

from lethe.engine import Engine, Known, Path

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

#: The column of what was found, while rows are redacted.
_FOUND = "__lethe_found"
_FIELDS = ("column", "label", "start", "end", "replacement_start", "replacement_end", "score", "members")

#: The engine of this process, by its options: a Python worker opens it with its first task and keeps it.
_opened: dict[tuple[Any, ...], Engine] = {}


@overload
def redact(
    df: DataFrame,
    *,
    text: Union[str, Sequence[str]],
    id: Optional[str] = ...,
    patient: Optional[str] = ...,
    known: Optional[Known] = ...,
    bundle: Path = ...,
    policy: Optional[Path] = ...,
    keys: Optional[Path] = ...,
    dictionary: Optional[Path] = ...,
    errors: Literal["raise", "null"] = ...,
    audit: Literal[False] = ...,
) -> DataFrame: ...
@overload
def redact(
    df: DataFrame,
    *,
    text: Union[str, Sequence[str]],
    id: Optional[str] = ...,
    patient: Optional[str] = ...,
    known: Optional[Known] = ...,
    bundle: Path = ...,
    policy: Optional[Path] = ...,
    keys: Optional[Path] = ...,
    dictionary: Optional[Path] = ...,
    errors: Literal["raise", "null"] = ...,
    audit: Literal[True],
) -> tuple[DataFrame, DataFrame]: ...
def redact(
    df: DataFrame,
    *,
    text: Union[str, Sequence[str]],
    id: Optional[str] = None,
    patient: Optional[str] = None,
    known: Optional[Known] = None,
    bundle: Path = "en-clinical",
    policy: Optional[Path] = None,
    keys: Optional[Path] = None,
    dictionary: Optional[Path] = None,
    errors: Literal["raise", "null"] = "raise",
    audit: bool = False,
) -> Union[DataFrame, tuple[DataFrame, DataFrame]]:
    """Redact columns of text of a data frame; its other columns stay as they are.

    Args:
        df: The data frame, of a batch or of a stream.
        text: The columns to redact.
        id: The column of the notes' ids.
        patient: The column of the patients' ids.
        known: Columns of what is known of the patient, by kind: ``{"patient": ["first_name", "last_name"]}``.
        bundle: A built-in bundle, or a folder. Files and folders are those of the executors: absolute paths, or names
            of what ``SparkContext.addFile`` or ``--archives`` sent to them.
        policy: A policy file.
        keys: The file of the policy's keys. It is read in the executors only, and is no part of the closure. A policy
            can name an environment variable of the executors, instead.
        dictionary: A compiled dictionary.
        errors: What to do with a note that cannot be redacted: fail the task, or make it null.
        audit: Whether to return a second data frame with a row for each identifier: the column ``id``, and the columns of
            :meth:`lethe.Engine.redact_batch`. Both are computed from one plan: cache the first frame, or write it before
            the second, if the notes should not be redacted twice.

    Raises:
        ValueError: There is no such column.
        TypeError: A column of text is not of strings.
    """
    from pyspark.sql import functions as F
    from pyspark.sql.types import StringType, StructType

    names = [text] if isinstance(text, str) else list(text)
    if not names:
        raise ValueError("`text` names no column")
    columns = {name: [value] if isinstance(value, str) else list(value) for name, value in (known or {}).items()}
    others = [name for name in (id, patient) if name is not None]
    for name in [*names, *others, *(name for values in columns.values() for name in values)]:
        if name not in df.columns:
            raise ValueError(f"no column is named `{name}`; there are {', '.join(df.columns)}")
    for name in names:
        if not isinstance(df.schema[name].dataType, StringType):
            kind = df.schema[name].dataType.simpleString()
            raise TypeError(f"column `{name}` has the type {kind}: only text is redacted")
    if audit and id is None:
        raise ValueError("`audit` needs `id`: its rows name the note by it")

    schema = StructType.fromJson(df.schema.jsonValue())
    for field in schema.fields:
        field.nullable |= errors == "null" and field.name in names
    if audit:
        schema = schema.add(_FOUND, _found_type())
    options = {"bundle": bundle, "policy": policy, "keys": keys, "dictionary": dictionary}

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        engine = _engine(options)
        for batch in batches:
            yield _redacted(engine, batch, names, id, patient, columns, errors, audit)

    redacted = df.mapInArrow(run, schema)
    if not audit:
        return redacted
    found = redacted.select(id or "", F.explode(_FOUND).alias("found")).select(id or "", "found.*")
    return redacted.drop(_FOUND), found


def register(
    spark: SparkSession,
    name: str = "lethe_redact",
    *,
    bundle: Path = "en-clinical",
    policy: Optional[Path] = None,
    keys: Optional[Path] = None,
    dictionary: Optional[Path] = None,
) -> None:
    """Register a function of SQL: ``SELECT lethe_redact(note), ...`` or ``lethe_redact(note, patient_id)``.

    The arguments are those of :func:`redact`. A note that cannot be redacted fails the task.
    """
    from pyspark.sql.pandas.functions import pandas_udf

    options = {"bundle": bundle, "policy": policy, "keys": keys, "dictionary": dictionary}

    def redact_notes(*columns: pd.Series) -> pd.Series:
        if len(columns) > 2:
            raise ValueError(f"{name} takes a note and a patient's id, and was given {len(columns)} columns")
        table = pd.DataFrame(dict(zip(("note", "patient"), columns)))
        patient = "patient" if len(columns) > 1 else None
        return _engine(options).redact_batch(table, text="note", patient=patient, threads=1)["note"]

    # Its overloads name functions of one to ten columns, not of any number.
    declare: Any = pandas_udf
    spark.udf.register(name, declare(redact_notes, "string"))


def _found_type() -> Any:
    """Return the type of the column of what was found."""
    from pyspark.sql.types import ArrayType, FloatType, LongType, StringType, StructType

    types = {"column": StringType(), "label": StringType(), "score": FloatType(), "members": ArrayType(StringType())}
    found = StructType()
    for name in _FIELDS:
        found = found.add(name, types.get(name, LongType()))
    return ArrayType(found)


def _engine(options: dict[str, Optional[Path]]) -> Engine:
    """Return the engine of this worker."""
    key = tuple(options.items())
    engine = _opened.get(key)
    if engine is None:
        engine = _opened[key] = Engine(
            _placed(options["bundle"]) or "en-clinical",
            policy=_placed(options["policy"]),
            keys=_placed(options["keys"], secret=True),
            dictionary=_placed(options["dictionary"]),
        )
    return engine


def _placed(path: Optional[Path], secret: bool = False) -> Optional[Path]:
    """Return where a file is that Spark sent to this executor, or the path itself."""
    from pyspark import SparkFiles

    if path is None or os.path.isabs(path):
        return path
    sent = SparkFiles.get(os.fspath(path))
    if not os.path.exists(sent):
        return path
    if secret:
        # Spark makes what it sends executable for everybody; the engine refuses keys that are not their owner's alone.
        os.chmod(sent, 0o600)
    return sent


def _redacted(
    engine: Engine,
    batch: pa.RecordBatch,
    text: Sequence[str],
    id: Optional[str],
    patient: Optional[str],
    known: Known,
    errors: Literal["raise", "null"],
    audit: bool,
) -> pa.RecordBatch:
    # One thread: Spark runs as many tasks as there are cores.
    result = engine.redact_batch(
        batch, text=text, id=id, patient=patient, known=known, errors=errors, audit=audit, threads=1
    )
    if not audit:
        return result
    redacted, found = result
    return redacted.append_column(_FOUND, _by_row(found, len(redacted)))


def _by_row(found: pa.Table, rows: int) -> pa.Array:
    """Return a list for each row of a batch of what was found in it."""
    import pyarrow as pa

    found = found.sort_by([("row", "ascending"), ("column", "ascending"), ("start", "ascending")])
    offsets = [0] * (rows + 1)
    for row in found.column("row").to_pylist():
        offsets[row + 1] += 1
    for row in range(rows):
        offsets[row + 1] += offsets[row]
    arrays = [found.column(name).combine_chunks() for name in _FIELDS]
    arrays[0] = arrays[0].cast(pa.string())
    values = pa.StructArray.from_arrays(arrays, names=list(_FIELDS))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)
