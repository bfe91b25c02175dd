"""Runs the SQL of Documentation/tables.md in chdb. See Tools/checks/tables."""

import re
import sys

from chdb import session

TABLES = ("metric", "event", "beacon")
ORGANIZATIONS = ("default", "other")
DEVICE = "01234567-89ab-cdef-0123-456789abcdef"
# The statements ask for the last day. Both fills must give the same time, so it is that of the day's begin.
TIME = "toDateTime(intDiv(toUInt32(now()), 86400) * 86400, 'UTC')"
# Values that the statements ask for, by table and column. Other columns get their type's default.
VALUES = {
    "metric": [
        {"name": "'system.cpu.load_average.1m'", "value": "0.5", "attributes": "'{}'"},
        {"name": "'system.memory.usage'", "value": "1000", "attributes": """'{"system.memory.state":"free"}'"""},
    ],
    "event": [{"name": "'sale'", "value": "'42'", "value_number": "42"}],
    "beacon": [{"device_name": "'kiosk'", "compromised": "'yes'", "battery_level": "0.5"}],
}


def documented(text):
    """The columns of each table, and the statements."""
    columns = {}
    for heading, body in re.findall(r"^## (Columns of .*?)\n(.*?)(?=^## )", text, re.M | re.S):
        columns[heading] = re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", body, re.M)
    common = columns["Columns of all tables"]
    tables = {table: common + columns[f"Columns of `{table}`"] for table in TABLES}
    return tables, re.findall(r"^```sql\n(.*?)^```", text, re.M | re.S)


def make(engine, table, columns):
    """The table, with each row twice in each organization."""
    definition = ", ".join(f"{name} {kind}" for name, kind in columns)
    name = "" if table == "beacon" else ", name"
    engine.query(
        f"CREATE TABLE {table} ({definition}) ENGINE = ReplacingMergeTree PARTITION BY day "
        f"ORDER BY (organization{name}, device, time, epoch, record)"
    )
    for organization in ORGANIZATIONS * 2:
        for values in VALUES[table]:
            row = {
                "day": "today()", "organization": f"'{organization}'", "device": f"toUUID('{DEVICE}')",
                "time": TIME, "record": "1", **values,
            }
            engine.query(f"INSERT INTO {table} ({', '.join(row)}) SELECT {', '.join(row.values())}")


def main():
    tables, statements = documented(open(sys.argv[1], encoding="utf-8").read())
    engine = session.Session()
    engine.query("CREATE DATABASE ws1")
    engine.query("USE ws1")
    for table, columns in tables.items():
        make(engine, table, columns)
        rows = int(str(engine.query(f"SELECT count() FROM {table} FINAL")).strip())
        if rows != len(ORGANIZATIONS) * len(VALUES[table]):
            sys.exit(f"checks/tables: {table} shows {rows} rows")
    if len(statements) < 6:
        sys.exit("checks/tables: Documentation/tables.md lacks its statements")
    for statement in statements:
        try:
            rows = str(engine.query(statement, "TSV")).strip()
        except RuntimeError as error:
            sys.exit(f"checks/tables: {error}\n{statement}")
        if not rows:
            sys.exit(f"checks/tables: this shows nothing:\n{statement}")
        if "organization = 'default'" not in statement or "FINAL" not in statement:
            sys.exit(f"checks/tables: this names no organization, or lacks FINAL:\n{statement}")
    print(f"{len(statements)} statements checked with ClickHouse {str(engine.query('SELECT version()')).strip()}")


main()
