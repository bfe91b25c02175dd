"""Forms for people and names: MessageView of RecordViews, EnumName of Collector, module names."""

from schema import HEADER, SchemaError, text


def shown_fields(schema):
    """What JSON for people changes, for every message in a record that has a field to change."""
    tables = {}

    def visit(message):
        if message.name in tables:
            return tables[message.name]
        table = tables[message.name] = {}
        for field in message.fields:
            shown = field.option("shown_as")
            if field.enum:
                table[field.json_name] = f".enumeration({text(field.enum.prefix)})"
            elif shown:
                table[field.json_name] = "." + schema.name_of("Shown", shown).lower()
            elif field.inner and not field.inner.is_map_entry and visit(field.inner):
                table[field.json_name] = f".message({text(field.inner.name)})"
        return table

    for kind in schema.kinds:
        # EventView shows events.
        if schema.body(kind).name != "Event":
            visit(schema.body(kind))
    lines = [
        HEADER, "extension MessageView {", "    /// By the message's name, then by the field's JSON name.",
        "    package static let fields: [String: [String: Field]] = ["]
    for name, table in tables.items():
        if table:
            lines.append(f"        {text(name)}: [")
            lines += [f"            {text(field)}: {form}," for field, form in table.items()]
            lines.append("        ],")
    return "\n".join(lines + ["    ]", "}", ""])


def names(enum):
    """The values that the API knows, with their names. Second names come last, so that none of them is written."""
    named, also = [], []
    for value in enum.values:
        word = value.option("word") or (None if value.own == "UNSPECIFIED" else value.kebab)
        if word:
            named.append((word, value.swift))
        if second := value.option("also"):
            also.append((second, value.swift))
    words = [word for word, _ in named + also]
    if len(set(words)) != len(words):
        raise SchemaError(f"{enum.name}: two values have the same name")
    return named + also


def is_named(schema, enum):
    return enum.options.Extensions[schema.extension("named")]


def enum_names(schema):
    """EnumName for every enum that the API names, but the types of events."""
    lines = [HEADER + "import WireModel\n"]
    for enum in schema.enums.values():
        if not is_named(schema, enum) or enum.name == "EventType":
            continue
        property = enum.name[0].lower() + enum.name[1:]
        lines += [
            f"extension EnumName<{enum.swift}> {{", f"    static var {property}: Self {{", "        Self(",
            f"            prefix: {text(enum.prefix)},", "            ["]
        lines += [f"                ({text(name)}, .{case})," for name, case in names(enum)]
        lines += ["            ])", "    }", "}", ""]
    return "\n".join(lines)


def event_names(schema):
    lines = [
        HEADER + "import WireModel\n", "extension WireEventType {", "    /// The types with their names.",
        "    package static let named: [(name: String, type: WireEventType)] = ["]
    lines += [f"        ({text(name)}, .{case})," for name, case in names(schema.enums["EventType"])]
    return "\n".join(lines + ["    ]", "}", ""])


def record_kinds(schema):
    """What a kind of record says, for both sides."""
    lines = [
        HEADER + "import SwiftProtobuf\n", "extension WireRecordKind {",
        "    /// The message in the body; `nil` for a kind of OTLP, and for one of a later version.",
        "    package var body: (any Message.Type)? {", "        switch self {"]
    lines += [f"        case .{kind.swift}: {schema.body(kind).swift}.self" for kind in schema.kinds]
    made = ", ".join(f".{kind.swift}" for kind in schema.all_kinds if kind not in schema.kinds)
    lines += [
        f"        case {made}, .unspecified, .UNRECOGNIZED: nil", "        }", "    }", "",
        "    /// Whether collectors make records of this kind, of what came as OTLP. A device may send one of them with a",
        "    /// context of its own (`RecordEnvelope.mayComeFromDevice`).",
        "    package var isMadeByCollectors: Bool {", "        switch self {", f"        case {made}: true",
        "        default: false", "        }", "    }", "",
        "    /// The kind in one word; a sample's is that of its module. `nil` for a kind of a later version.",
        "    package var word: String? {", "        switch self {",
        *(f"        case .{kind.swift}: {text(kind.kebab.removeprefix('sample-'))}" for kind in schema.all_kinds),
        "        case .unspecified, .UNRECOGNIZED: nil", "        }", "    }", "",
        "    /// Built-in sample modules with a kind of their own, by name.",
        "    package static let modules: [(name: String, kind: WireRecordKind)] = ["]
    lines += [f"        ({text(module.name)}, .{kind.swift})," for kind, _, module in schema.samples()]
    return "\n".join(lines + ["    ]", "}", ""])


def modules(schema):
    """All modules in the order of their bits, and the names of those that are reserved."""
    reserved = list(schema.options.Extensions[schema.extension("reserved_module")])
    bodies = [schema.module(schema.body(kind)) for kind in schema.kinds]
    found = sorted([module for module in bodies if module is not None] + reserved, key=lambda module: module.bit)
    for what in ("name", "bit"):
        if len({getattr(module, what) for module in found}) != len(found):
            raise SchemaError(f"Two modules have the same {what}")
    for module in found:
        if not (module.name and module.about):
            raise SchemaError(f"The module {module.name} with bit {module.bit} needs a name and a sentence about it")
    return found, {module.name for module in reserved}


def module_constants(schema):
    """The public constants of the library."""
    lines = [HEADER + "import SampleModules\n", "extension DataSamplerModules {"]
    for module in modules(schema)[0]:
        lines += [f"    /// {module.about}", f"    public static let {module.name} = DataSamplerModules(.{module.name})"]
    return "\n".join(lines + ["}", ""])


def module_names(schema):
    found, reserved = modules(schema)
    lines = [
        HEADER, "/// The modules of a sampler. Names and bits never change.", "///",
        "/// Configuration uses the raw value, never a number. The bits are ours: the public documentation of ws1 names its",
        "/// modules, and gives no values. Bit 7 stays unused.",
        "package enum SampleModuleName: String, Sendable, Hashable, CaseIterable {"]
    lines += [f"    case {module.name}" for module in found]
    lines += ["", "    /// The module's bit in a ``ModuleSet``.", "    package var bit: UInt8 {", "        switch self {"]
    lines += [f"        case .{module.name}: {module.bit}" for module in found]
    offered = ", ".join(
        f".{module.name}" for module in found if not module.not_yet and module.name not in reserved)
    refused = ", ".join(f".{name}" for name in sorted(reserved))
    lines += [
        "        }", "    }", "", "    /// The modules of this version.",
        "    package static let offered: Set<SampleModuleName> = [", f"        {offered},", "    ]", "",
        "    /// Names that stay refused: this platform has nothing to sample.",
        f"    static let reserved: Set<SampleModuleName> = [{refused}]", "}", "", "extension ModuleSet {"]
    lines += [
        f"    package static let {module.name} = ModuleSet(SampleModuleName.{module.name})" for module in found]
    return "\n".join(lines + ["}", ""])
