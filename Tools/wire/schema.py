"""The compiled schema with its options, and what every generated table needs of it."""

import importlib
import pathlib
import re
import subprocess
import sys
import tempfile

from google.protobuf import descriptor_pb2

DIRECTORY = pathlib.Path(__file__).resolve().parents[2] / "Schemas/wire/v1"
HEADER = "// Written by Tools/generate-wire from Schemas/wire/v1. Do not edit.\n"
Field = descriptor_pb2.FieldDescriptorProto
NUMBERS = {
    Field.TYPE_DOUBLE, Field.TYPE_FLOAT, Field.TYPE_INT64, Field.TYPE_UINT64, Field.TYPE_INT32, Field.TYPE_FIXED64,
    Field.TYPE_FIXED32, Field.TYPE_UINT32, Field.TYPE_SFIXED32, Field.TYPE_SFIXED64, Field.TYPE_SINT32,
    Field.TYPE_SINT64,
}


class SchemaError(Exception):
    """Something that the schema must say is missing, or two things contradict each other."""


class Message:
    def __init__(self, schema, path, proto):
        self.name = path
        self.swift = "Wire" + path
        self.fields = [MessageField(schema, self, field) for field in proto.field]
        self.options = proto.options
        self.is_map_entry = proto.options.map_entry

    def field(self, name):
        return next((field for field in self.fields if field.name == name), None)


class MessageField:
    def __init__(self, schema, message, proto):
        self.schema = schema
        self.message = message
        self.name = proto.name
        self.json_name = proto.json_name
        self.number = proto.number
        self.type = proto.type
        self.type_name = proto.type_name.removeprefix(f".{schema.package}.")
        self.is_list = proto.label == Field.LABEL_REPEATED
        self.is_optional = proto.proto3_optional or proto.HasField("oneof_index")
        self.options = proto.options

    def __str__(self):
        return f"{self.message.name}.{self.name}"

    @property
    def inner(self):
        """The message that the field holds; nothing for other fields."""
        return self.schema.messages[self.type_name] if self.type == Field.TYPE_MESSAGE else None

    @property
    def enum(self):
        return self.schema.enums[self.type_name] if self.type == Field.TYPE_ENUM else None

    @property
    def is_number(self):
        return self.type in NUMBERS

    @property
    def is_text(self):
        return self.type in (Field.TYPE_STRING, Field.TYPE_BYTES)

    def option(self, name):
        """The option; nothing if the field does not have it."""
        extension = self.schema.extension(name)
        return self.options.Extensions[extension] if self.options.HasExtension(extension) else None

    @property
    def swift(self):
        """As swift-protobuf names the property."""
        return swift_name(self.name)

    @property
    def swift_presence(self):
        return "has" + self.swift[0].upper() + self.swift[1:]


class Enum:
    def __init__(self, schema, path, proto):
        self.name = path.split(".")[-1]
        self.swift = "Wire" + path
        self.prefix = snake(self.name).upper() + "_"
        self.options = proto.options
        self.values = [EnumValue(schema, self, value) for value in proto.value]

    def value(self, name):
        return next((value for value in self.values if value.name == name), None)


class EnumValue:
    def __init__(self, schema, enum, proto):
        if not proto.name.startswith(enum.prefix):
            raise SchemaError(f"{proto.name}: the values of {enum.name} begin with {enum.prefix}")
        self.schema = schema
        self.name = proto.name
        self.number = proto.number
        self.own = proto.name.removeprefix(enum.prefix)
        self.swift = swift_name(self.own.lower())
        self.options = proto.options

    def option(self, name):
        extension = self.schema.extension(name)
        return self.options.Extensions[extension] if self.options.HasExtension(extension) else None

    @property
    def kebab(self):
        return self.own.lower().replace("_", "-")

    @property
    def is_unknown(self):
        return self.own in ("UNKNOWN", "UNSPECIFIED")


class Schema:
    def __init__(self, directory=DIRECTORY):
        """Compiles the schema. Throws what protoc says against it."""
        with tempfile.TemporaryDirectory() as scratch:
            compiled = pathlib.Path(scratch) / "schema.bin"
            run = subprocess.run(
                ["protoc", f"--proto_path={directory}", f"--descriptor_set_out={compiled}", "--include_imports",
                 "--include_source_info", f"--python_out={scratch}", "options.proto", "telemetry.proto"],
                capture_output=True, text=True)
            if run.returncode:
                raise SchemaError(run.stderr.strip())
            if "options_pb2" not in sys.modules:
                sys.path.insert(0, scratch)
                importlib.import_module("options_pb2")
                sys.path.remove(scratch)
            self.declared = sys.modules["options_pb2"]
            files = descriptor_pb2.FileDescriptorSet.FromString(compiled.read_bytes())
        file = next(file for file in files.file if file.name == "telemetry.proto")
        self.package = file.package
        self.options = file.options
        self.messages, self.enums = {}, {}
        for enum in file.enum_type:
            self.enums[enum.name] = Enum(self, enum.name, enum)
        for message in file.message_type:
            self._add(message.name, message)
        self.all_kinds = [value for value in self.enums["RecordKind"].values if not value.is_unknown]
        # Those that devices make.
        self.kinds = [value for value in self.all_kinds if not value.option("otlp_body")]

    def _add(self, path, proto):
        self.messages[path] = Message(self, path, proto)
        for nested in proto.nested_type:
            self._add(f"{path}.{nested.name}", nested)
        for enum in proto.enum_type:
            self.enums[f"{path}.{enum.name}"] = Enum(self, f"{path}.{enum.name}", enum)

    def extension(self, name):
        return getattr(self.declared, name)

    def name_of(self, enum, number):
        """The name of a value of an enum in options.proto."""
        return getattr(self.declared, enum).DESCRIPTOR.enum_types[0].values_by_number[number].name

    def body(self, kind):
        """The message in the body of a kind of record."""
        name = kind.option("body")
        if name not in self.messages:
            raise SchemaError(f"{kind.name}: option body is missing or names no message")
        return self.messages[name]

    def module(self, message):
        extension = self.extension("module")
        return message.options.Extensions[extension] if message.options.HasExtension(extension) else None

    def samples(self):
        """The kinds of samples with fields of their own, with their messages and modules, in the order of the kinds."""
        found = []
        for kind in self.kinds:
            message = self.body(kind)
            module = self.module(message)
            if kind.own.startswith("SAMPLE_") and module is None:
                raise SchemaError(f"{message.name}: the body of {kind.name} has no option module")
            if module is not None and module.name != "custom":
                found.append((kind, message, module))
        return found


def snake(name):
    """`NetworkClass` as `network_class`."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


def swift_name(name):
    """`io_wait` as `ioWait`, as swift-protobuf does it."""
    if name == "self":
        return "self_p"
    first, *others = name.split("_")
    upper = {"id": "ID", "url": "URL", "http": "HTTP", "https": "HTTPS"}
    return first + "".join(upper.get(word, word.capitalize()) for word in others)


def camel(name):
    """`IP_ADDRESS` as `ipAddress`."""
    first, *others = name.lower().split("_")
    return first + "".join(word.capitalize() for word in others)


def text(value):
    """As a Swift literal."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def wrapped(prefix, items, end, indent):
    """A call or a list as lines of at most 120 columns."""
    line = f"{indent}{prefix}{', '.join(items)}{end}"
    if len(line) <= 120:
        return [line]
    lines, current = [f"{indent}{prefix}"], ""
    for place, item in enumerate(items):
        item += "," if place + 1 < len(items) else end
        if current and len(indent) + 5 + len(current) + len(item) > 120:
            lines.append(f"{indent}    {current}")
            current = item
        else:
            current = f"{current} {item}" if current else item
    return lines + [f"{indent}    {current}"]
