"""Compares the metrics of the schema with OpenTelemetry's semantic conventions: Schemas/conventions/conventions.json.

A name of ours begins with `ws1.`. Any other name is one of the conventions, with their unit, kind and attributes, or
says in the schema why it is not (`unregistered`, `beyond`). An excuse that is not needed any more is refused too.
"""

import json
import pathlib
from dataclasses import dataclass

from schema import SchemaError

FILE = pathlib.Path(__file__).resolve().parents[2] / "Schemas/conventions/conventions.json"
OURS = "ws1."
INSTRUMENTS = {"gauge": "GAUGE", "updowncounter": "UP_DOWN_COUNTER", "counter": "CUMULATIVE_COUNTER"}


@dataclass(frozen=True)
class Attribute:
    type: str
    values: tuple | None  # those that it can have; nothing: any
    always: bool          # every point has it


@dataclass(frozen=True)
class Use:
    """One field that is read as a metric."""

    field: str
    name: str
    unit: str
    kind: str
    attributes: dict  # by name
    unregistered: str
    beyond: dict      # reasons, by attribute


def load():
    return json.loads(FILE.read_text())


def check(uses, table):
    """Throws every departure at once."""
    wrong = [f"{use.field}: {sentence}" for use in uses for sentence in departures(use, table)]
    if wrong:
        raise SchemaError("\n  ".join([
            f"{len(wrong)} departures from OpenTelemetry's conventions {table['version']} "
            "(Schemas/conventions/conventions.json):", *wrong]))


def departures(use, table):
    known = table["metrics"].get(use.name)
    if use.name.startswith(OURS):
        return list(attributes(use, table, None))
    if known is None:
        if use.unregistered:
            return list(attributes(use, table, None))
        return [f"the conventions have no metric {use.name}. A name of our own begins with {OURS}"]
    found = []
    if use.unregistered:
        found.append(f"{use.name} is a metric of the conventions now; remove (metric).unregistered")
    if use.unit != known["unit"]:
        found.append(f"the unit of {use.name} is {known['unit']}, not {use.unit}")
    kind = INSTRUMENTS.get(known["instrument"])
    if use.kind != kind:
        found.append(
            f"{use.name} is a {known['instrument']}, so its kind is {kind}, not {use.kind}"
            + (". An increase needs a name of our own" if use.kind == "DELTA_COUNTER" else ""))
    for name, level in known["attributes"].items():
        if level == "required" and not (name in use.attributes and use.attributes[name].always):
            found.append(f"every point of {use.name} needs the attribute {name}")
    for name in use.beyond:
        if name in known["attributes"]:
            found.append(f"{name} is an attribute of {use.name} in the conventions; remove (metric).beyond")
    return found + list(attributes(use, table, known))


def attributes(use, table, known):
    for name, attribute in use.attributes.items():
        if name.startswith(OURS):
            continue
        registered = table["attributes"].get(name)
        if registered is None:
            yield f"{use.name} has the attribute {name}, which the conventions do not have. Ours begin with {OURS}"
            continue
        if known and name not in known["attributes"] and name not in use.beyond:
            yield (
                f"the conventions give {use.name} no attribute {name}. Leave it out, or give (metric).beyond the reason")
        if attribute.type != registered["type"]:
            yield f"the attribute {name} of {use.name} is of type {registered['type']}, not {attribute.type}"
        if "values" in registered and attribute.values is not None:
            allowed = registered["values"] + ((known or {}).get("values", {}).get(name, []))
            for value in attribute.values:
                if value not in allowed:
                    yield f"{name} of {use.name} cannot be {value}: the conventions have {', '.join(allowed)}"
