# SPDX-License-Identifier: Apache-2.0
"""Rows as Parquet, by pyarrow, which is an extra: `ioatlas[parquet]`."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ioatlas.report.table import Meaning, Value

GROUP, GROUP_ROWS = ("min_rows_per_group", "max_rows_per_group"), 100_000
"""Of a row group: whoever reads part of a file reads some of them."""


def can() -> bool:
    """Whether pyarrow is installed."""
    return find_spec("pyarrow") is not None


def parquet(columns: Mapping[str, Meaning], rows: Iterable[Mapping[str, Value]]) -> bytes:
    """A file of these columns, in their order. What fits no column of numbers, and an empty text, is none there.

    Raises ImportError without pyarrow.
    """
    from pyarrow.parquet import write_table

    file = io.BytesIO()
    write_table(_arrow(columns, rows), file)
    return file.getvalue()


class Parted:
    """Rows as Parquet files, one for each value of a column, which they lack then. They lie on disk meanwhile: all of
    them need not fit in memory.
    """

    def __init__(self, columns: Mapping[str, Meaning], by: str, place: Path) -> None:
        """place: an empty folder. Raises ImportError without pyarrow."""
        from pyarrow import ipc

        self._columns, self._by, self._place = columns, by, place
        self._rows = ipc.new_stream(str(place / "rows"), _arrow(columns, ()).schema)

    def add(self, rows: Iterable[Mapping[str, Value]]) -> None:
        self._rows.write_table(_arrow(self._columns, rows))

    def files(self) -> Iterator[tuple[str, bytes]]:
        """(the value, its file), in order; no more rows are taken then."""
        from pyarrow import dataset, ipc

        self._rows.close()
        form, sizes = {"partitioning": [self._by], "format": "parquet"}, dict.fromkeys(GROUP, GROUP_ROWS)
        with ipc.open_stream(str(self._place / "rows")) as rows:
            dataset.write_dataset(rows, self._place / "parts", use_threads=False, **form, **sizes)
        for path in sorted(self._place.glob("parts/*/*")):
            yield path.parent.name, path.read_bytes()


def _arrow(columns: Mapping[str, Meaning], rows: Iterable[Mapping[str, Value]]) -> Any:
    import pyarrow as pa

    casts = {"string": (str, pa.string()), "integer": (int, pa.int64()), "number": (float, pa.float64())}
    fields = [
        pa.field(name, casts[one.kind][1], metadata={"description": one.text, "unit": one.unit})
        for name, one in columns.items()
    ]
    found = [{name: _fitting(row[name], casts[one.kind][0]) for name, one in columns.items()} for row in rows]
    return pa.Table.from_pylist(found, schema=pa.schema(fields))


def _fitting(value: Value, cast: type) -> Value:
    return None if value in (None, "") or (cast is not str and isinstance(value, str)) else cast(value)
