"""Tables and columns of other libraries: to Arrow and back.

Each library has two functions here, in ``_LIBRARIES``. The first redacts, and passes only the columns that the engine needs, so that the others
need not have a type that Arrow or this package knows. The second makes a table of Arrow data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Optional

Call = Callable[[object], Any]
Redact = Callable[[Any, Sequence[str], Sequence[str], Call], Any]


class ArrowData:
    """A redacted table or column as Arrow data.

    Every library that reads the Arrow PyCapsule interface takes it: ``pyarrow.table(data)``, ``polars.DataFrame(data)``,
    ``pandas.DataFrame.from_arrow(data)``.
    """

    def __init__(self, native: Any) -> None:
        self._native = native

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._native.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._native.__arrow_c_schema__()

    def __len__(self) -> int:
        return int(self._native.num_rows if hasattr(self._native, "num_rows") else len(self._native))

    def __repr__(self) -> str:
        return f"ArrowData({len(self)} rows)"


def redact(data: Any, text: Sequence[str], needed: Sequence[str], call: Call) -> Any:
    """Redact ``data`` with ``call``, and return it as a table or column of its own library."""
    library = _library(data)
    if library is not None:
        return library[0](data, text, needed, call)
    if not (hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")):
        raise TypeError(
            f"{type(data).__module__}.{type(data).__qualname__} is neither a table nor a column with the Arrow "
            "PyCapsule interface; for one note call `redact`"
        )
    return ArrowData(call(data))


def table_like(data: Any, native: Any) -> Any:
    """Return a table of the native module as one of the library of ``data``."""
    library = _library(data)
    return ArrowData(native) if library is None else library[1](native)


def _library(data: Any) -> Optional[tuple[Redact, Callable[[Any], Any]]]:
    return _LIBRARIES.get(type(data).__module__.partition(".")[0])


def _check(columns: Sequence[Any], text: Sequence[str], needed: Sequence[str]) -> list[str]:
    """Return the columns to pass, each once."""
    there = ", ".join(map(str, columns))
    if not text:
        raise ValueError(f"`text` is missing: it names the columns to redact, of {there}")
    for name in needed:
        count = sum(1 for column in columns if column == name)
        if count == 0:
            raise ValueError(f"no column is named `{name}`; there are {there}")
        if count > 1:
            raise ValueError(f"{count} columns are named `{name}`")
    return list(dict.fromkeys(needed))


def _check_column(needed: Sequence[str]) -> None:
    if needed:
        raise ValueError("`text`, `id`, `patient` and `known` name columns of a table, and the data is a single column")


def _pyarrow(data: Any, text: Sequence[str], needed: Sequence[str], call: Call) -> Any:
    import pyarrow as pa

    if isinstance(data, (pa.Table, pa.RecordBatch)):
        passed = data.select(_check(data.schema.names, text, needed))
        redacted = pa.table(call(passed))
        for name in text:
            column: Any = redacted.column(name)
            field = redacted.schema.field(name)
            if isinstance(data, pa.RecordBatch):
                column = pa.concat_arrays(column.chunks) if column.num_chunks != 1 else column.chunk(0)
            data = data.set_column(data.schema.get_field_index(name), field, column)
        return data
    if isinstance(data, (pa.Array, pa.ChunkedArray)):
        _check_column(needed)
        redacted = pa.chunked_array(call(data))
        if isinstance(data, pa.ChunkedArray):
            return redacted
        return redacted.chunk(0) if redacted.num_chunks == 1 else pa.array([], redacted.type)
    return ArrowData(call(data))


def _polars(data: Any, text: Sequence[str], needed: Sequence[str], call: Call) -> Any:
    import polars as pl

    if isinstance(data, pl.DataFrame):
        passed = data.select(_check(data.columns, text, needed))
        return data.with_columns(pl.DataFrame(call(passed)).select(text))
    if isinstance(data, pl.Series):
        _check_column(needed)
        return pl.Series(data.name, call(data), dtype=data.dtype)
    raise TypeError(f"polars.{type(data).__name__} is neither a DataFrame nor a Series: collect it first")


def _pandas(data: Any, text: Sequence[str], needed: Sequence[str], call: Call) -> Any:
    import pandas as pd
    import pyarrow as pa

    if isinstance(data, pd.Series):
        _check_column(needed)
        redacted = pa.chunked_array(call(_from_pandas(data, "the column")))
        return _to_pandas(data, redacted)
    if not isinstance(data, pd.DataFrame):
        raise TypeError(f"pandas.{type(data).__name__} is neither a DataFrame nor a Series")
    names = _check(list(data.columns), text, needed)
    arrays = [_from_pandas(data[name], f"column `{name}`") for name in names]
    table = pa.table(call(pa.table(arrays, names=names)))
    # A shallow copy: the other columns are shared, and the caller's table is not changed.
    copy = data.copy(deep=False)
    for name in text:
        copy[name] = _to_pandas(data[name], table.column(name))
    return copy


def _from_pandas(series: Any, name: str) -> Any:
    import pyarrow as pa

    try:
        return pa.array(series, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError):
        pass
    # Not in the handler: pyarrow's message quotes the value, and would be this exception's context.
    raise TypeError(f"{name} holds values of several types, or of one that Arrow has not: only text is redacted")


def _to_pandas(series: Any, redacted: Any) -> Any:
    import pandas as pd

    values = redacted.to_pylist()
    if isinstance(series.dtype, pd.CategoricalDtype):
        return pd.Series(pd.Categorical(values), index=series.index, name=series.name)
    # What stands for a missing note (None, NaN or NA) stays what it was.
    missing = series.isna()
    result = pd.Series(values, index=series.index, name=series.name, dtype=series.dtype)
    return result.mask(missing, series) if missing.any() else result


def _pyarrow_table(native: Any) -> Any:
    import pyarrow as pa

    return pa.table(native)


def _polars_table(native: Any) -> Any:
    import polars as pl

    return pl.DataFrame(native)


def _pandas_table(native: Any) -> Any:
    return _pyarrow_table(native).to_pandas()


_LIBRARIES: dict[str, tuple[Redact, Callable[[Any], Any]]] = {
    "pandas": (_pandas, _pandas_table),
    "polars": (_polars, _polars_table),
    "pyarrow": (_pyarrow, _pyarrow_table),
}
