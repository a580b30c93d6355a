"""A bar for long calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Optional


@contextmanager
def bar(wanted: bool, data: Any, columns: int) -> Iterator[Optional[Callable[[int], object]]]:
    """Yield what is called with numbers of finished notes, or nothing if no bar is shown."""
    if not wanted:
        yield None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        yield None
        return
    total = len(data) * columns if hasattr(data, "__len__") else None
    with tqdm(total=total, unit="note") as shown:
        yield shown.update
