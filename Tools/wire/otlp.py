"""What a reader of OTLP must know of each message before it decodes it, from the schema in Schemas/otlp."""

import pathlib
import subprocess
import tempfile

from google.protobuf import descriptor_pb2

from schema import Field, SchemaError, text, wrapped

DIRECTORY = pathlib.Path(__file__).resolve().parents[2] / "Schemas/otlp"
HEADER = "// Written by Tools/generate-wire from Schemas/otlp. Do not edit.\n"
ROOTS = ["ExportLogsServiceRequest", "ExportMetricsServiceRequest"]
VARINTS = {
    Field.TYPE_INT64, Field.TYPE_UINT64, Field.TYPE_INT32, Field.TYPE_UINT32, Field.TYPE_SINT32, Field.TYPE_SINT64,
    Field.TYPE_BOOL, Field.TYPE_ENUM,
}
# OTLP's JSON has them as hex, wherever they are.
IDENTIFIERS = {"trace_id", "span_id"}


def files(directory=DIRECTORY):
    """The schema's own files, as protoc wants to have them."""
    found = sorted(str(file.relative_to(directory)) for file in directory.rglob("*.proto"))
    if not found:
        raise SchemaError(f"{directory}: has no schema")
    return found


def messages(directory=DIRECTORY):
    """All messages that a request can hold, by full name; the two requests first."""
    with tempfile.TemporaryDirectory() as scratch:
        compiled = pathlib.Path(scratch) / "schema.bin"
        run = subprocess.run(
            ["protoc", f"--proto_path={directory}", f"--descriptor_set_out={compiled}", "--include_imports",
             *files(directory)], capture_output=True, text=True)
        if run.returncode:
            raise SchemaError(run.stderr.strip())
        compiled = descriptor_pb2.FileDescriptorSet.FromString(compiled.read_bytes())
    every = {}

    def add(prefix, message):
        every[f"{prefix}.{message.name}"] = message
        for nested in message.nested_type:
            add(f"{prefix}.{message.name}", nested)

    for file in compiled.file:
        for message in file.message_type:
            add(f".{file.package}", message)
    found = {}
    waiting = [name for root in ROOTS for name in every if name.endswith(f".{root}")]
    if len(waiting) != len(ROOTS):
        raise SchemaError(f"Schemas/otlp does not have each of {', '.join(ROOTS)} once")
    while waiting:
        name = waiting.pop(0)
        if name in found:
            continue
        found[name] = every[name]
        waiting += [field.type_name for field in every[name].field if field.type == Field.TYPE_MESSAGE]
    return found


def content(field, places):
    if field.type == Field.TYPE_MESSAGE:
        return f".message({places[field.type_name]})"
    if field.name in IDENTIFIERS:
        return ".identifier"
    if field.label == Field.LABEL_REPEATED:
        return ".varints" if field.type in VARINTS else ".list"
    return ".enumeration" if field.type == Field.TYPE_ENUM else ".plain"


def shapes(directory=DIRECTORY):
    found = messages(directory)
    places = {name: place for place, name in enumerate(found)}
    lines = [
        HEADER, "extension OTLPShape {",
        "    /// The messages that a request can hold. A field's `message` is a place in this list.",
        "    static let all: [OTLPShape] = ["]
    for name, message in found.items():
        lines.append(f"        OTLPShape(")
        lines.append(f"            {text(message.name)},")
        lines.append("            [")
        for field in message.field:
            lines += wrapped(
                "Field(", [str(field.number), text(field.json_name), content(field, places)], "),", " " * 16)
        lines += ["            ]),"]
    lines += ["    ]", ""]
    for name in places:
        if name.split(".")[-1] in ROOTS:
            constant = "logs" if "Logs" in name.split(".")[-1] else "metrics"
            lines.append(f"    static let {constant} = {places[name]}")
    return "\n".join(lines + ["}", ""])
