"""The accessor ``lethe`` of pandas: ``pip install lethe-deid[pandas]``, ``import lethe.pandas``.

>>> import pandas as pd
>>> import lethe.pandas
>>> notes = pd.Series(["Seen by Dr. Okafor on 03/05/2021."])
>>> notes.lethe.redact()[0]
'Seen by Dr. [DOCTOR] on [DATE].'
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Optional

import pandas as pd

from lethe.engine import Engine


@lru_cache(maxsize=1)
def _default() -> Engine:
    return Engine()


@pd.api.extensions.register_series_accessor("lethe")
@pd.api.extensions.register_dataframe_accessor("lethe")
class LetheAccessor:
    """Redacts a column or a table. Without an engine it uses the bundle ``en-clinical``, which is opened once."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def redact(self, *args: Any, engine: Optional[Engine] = None, **options: Any) -> Any:
        """Redact: the arguments are those of :meth:`lethe.Engine.redact_batch` after ``data``.

        For a table, the columns of text may come first: ``frame.lethe.redact("note", patient="mrn")``.
        """
        if len(args) > 1:
            raise TypeError("only the columns of text may be given without a name")
        if args:
            options["text"] = args[0]
        return (engine or _default()).redact_batch(self._data, **options)
