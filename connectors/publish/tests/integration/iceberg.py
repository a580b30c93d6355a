"""Reads and writes Iceberg tables with pyiceberg, which shares no code with the program.

  iceberg.py rows TABLE...          for each table, its rows as [topic, partition, offset, redactions]
  iceberg.py files TABLE            its files as [path, size in bytes, rows]
  iceberg.py append TABLE NUMBER    appends a row of the topic `foreign` with this offset; again if another writer was first

TABLE is the folder of a table, or URL=NAME for a table of a catalog. Prints JSON.
"""
import json
import sys

import pyarrow as pa
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import StaticTable


def table(place):
    if "=" in place:
        url, name = place.split("=")
        return RestCatalog("test", uri=url).load_table(name)
    return StaticTable.from_metadata(place)


def rows(place):
    columns = ("topic", "partition", "offset", "redactions")
    found = table(place).scan(selected_fields=columns).to_arrow().select(columns)
    return sorted([row[name] for name in columns] for row in found.to_pylist())


def append(place, number):
    while True:
        target = table(place)
        row = {"topic": "foreign", "partition": 0, "offset": int(number), "redactions": 0}
        schema = target.schema().as_arrow()
        columns = [pa.array([row.get(field.name)], field.type) for field in schema]
        try:
            target.append(pa.table(columns, schema=schema))
            return
        except CommitFailedException:
            pass


def main(command, places):
    if command == "rows":
        print(json.dumps([rows(place) for place in places]))
    elif command == "files":
        tasks = table(places[0]).scan().plan_files()
        print(json.dumps([[task.file.file_path, task.file.file_size_in_bytes, task.file.record_count] for task in tasks]))
    elif command == "append":
        append(*places)
    else:
        sys.exit(__doc__)


main(sys.argv[1], sys.argv[2:])
