#!/usr/bin/python3
"""Prints every name that people and programs outside rely on, one to a line: flags, settings, routes, JSON keys, codes of
problems and notices, sample modules, metrics, and columns of the tables for people. Tools/checks/api compares it with
Tools/api/names.txt.

  Tools/checks/names.py BINARIES    BINARIES: the directory of the built programs

The documents and schemas that it reads are themselves compared with the code by tests.
"""

import json
import pathlib
import re
import subprocess
import sys

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAMS = ("ws1agent", "ws1log", "ws1ctl", "ws1collector")


def flags(command, path):
    """The arguments of a command and of those below it."""
    path = path + [command["commandName"]]
    if command["commandName"] == "help":
        return
    yield " ".join(path)
    for argument in command.get("arguments", []):
        names = [("--" if name["kind"] == "long" else "-") + name["name"] for name in argument.get("names", [])]
        if not {"--help", "--version"}.intersection(names):
            yield f"{' '.join(path)} {' '.join(names) or '<' + argument['valueName'] + '>'}"
    for below in command.get("subcommands", []):
        yield from flags(below, path)


def program_names(binaries):
    for program in PROGRAMS:
        dump = subprocess.run(
            [binaries / program, "--experimental-dump-help"], check=True, capture_output=True, text=True)
        yield from flags(json.loads(dump.stdout)["command"], [])


def setting_names(schema):
    return properties(json.loads((ROOT / "Schemas" / schema).read_text()), "")


def properties(schema, prefix):
    for name, value in schema.get("properties", {}).items():
        yield prefix + name
        yield from properties(value, f"{prefix}{name}.")
        yield from properties(value.get("items", {}), f"{prefix}{name}[].")
    for part in schema.get("allOf", []):
        yield from properties(part, prefix)


def interface():
    return yaml.safe_load((ROOT / "Schemas/api/openapi.yaml").read_text())


def routes(api):
    shared = api["components"].get("parameters", {})
    for path, methods in api["paths"].items():
        common = methods.get("parameters", [])
        for method, route in methods.items():
            if method not in ("get", "put", "post", "delete", "patch"):
                continue
            yield f"{method.upper()} {path}"
            for parameter in common + route.get("parameters", []):
                if "$ref" in parameter:
                    parameter = shared[parameter["$ref"].rsplit("/", 1)[1]]
                if parameter["in"] != "path":
                    yield f"{method.upper()} {path} {parameter['in']} {parameter['name']}"


def keys(api):
    for name, schema in api["components"]["schemas"].items():
        yield from properties(schema, f"{name}.")


def first_cells(document, heading):
    """The code words in the first column of the tables under a heading of a document, and of its subsections."""
    text = (ROOT / "Documentation" / document).read_text()
    found = re.search(rf"^(#+) {re.escape(heading)}\n(.*?)(?=^#{{1,2}} |\Z)", text, re.MULTILINE | re.DOTALL)
    if not found:
        sys.exit(f"names: Documentation/{document} has no heading {heading}")
    for line in found[2].splitlines():
        if line.startswith("| "):
            yield from re.findall(r"`([^`]+)`", line.split("|")[1])


def tables():
    """The columns of each table: the document has a heading for each, or one for several."""
    heading = ""
    for line in (ROOT / "Documentation/tables.md").read_text().splitlines():
        if line.startswith("#"):
            heading = line.strip("# ")
        elif line.startswith("| "):
            for name in re.findall(r"`([^`]+)`", line.split("|")[1]):
                yield f"{heading}: {name}"


def modules():
    """The sample modules with their bits in a mask."""
    text = (ROOT / "Sources/Device/SampleModules/Generated/SampleModuleName.swift").read_text()
    for name, bit in re.findall(r"case \.(\w+): (\d+)", text):
        yield f"{name} {bit}"


def sampled_metrics():
    """The metrics of samples with unit and kind."""
    for path in (ROOT / "Sources/Collector/MetricCatalog/Generated").glob("*+Metrics.swift"):
        for metric in re.findall(r'name: "([^"]+)",\s+unit: "([^"]+)",\s+kind: \.(\w+)', path.read_text()):
            yield " ".join(metric)


def section(title, names):
    names = sorted(set(names))
    if not names:
        sys.exit(f"names: nothing found for: {title}")
    print(f"# {title}")
    print("\n".join(names) + "\n")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    api = interface()
    section("Commands and flags", program_names(pathlib.Path(sys.argv[1])))
    section("Settings of the agent", setting_names("agent/configuration.schema.json"))
    section("Settings of the collector", setting_names("collector/configuration.schema.json"))
    section("Keys of the enrollment file", setting_names("enrollment/enrollment-file.schema.json"))
    section("Routes and their parameters", routes(api))
    section("Keys of JSON answers and requests", keys(api))
    section("Codes of problems", first_cells("runbook.md", "HTTP problem codes"))
    section("Notices of the collector", first_cells("runbook.md", "Notices of the collector"))
    section("Notices of the device", first_cells("runbook.md", "Notices of the device"))
    section("Reasons for dropped records", first_cells("runbook.md", "Reasons for dropped records"))
    section("Sample modules and their bits", modules())
    section("Metrics of samples", sampled_metrics())
    section("Metrics of the collector", first_cells("operations.md", "Metrics"))
    section("Tables for people", tables())


main()
