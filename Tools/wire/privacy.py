"""The privacy class of every field that leaves the device, as FieldClasses of Privacy."""

import re

from schema import HEADER, Field, SchemaError, camel, text, wrapped

TEXT_FORMS = {"TEXT", "HOST_NAME", "EMAIL", "PERSON_NAME", "MAC_ADDRESS", "INTERFACE_NAME", "IP_ADDRESS", "PATH"}
NUMBER_FORMS = {
    "DEGREES": {Field.TYPE_DOUBLE}, "ROUNDED_REAL": {Field.TYPE_DOUBLE}, "ROUNDED_INTEGER": {Field.TYPE_SINT64},
    "DATE": {Field.TYPE_INT64}, "FLAG": {Field.TYPE_BOOL},
}


class Privacy:
    def __init__(self, schema):
        self.schema = schema
        self.tables = {}  # by name, in the order in which they are needed: lines of Swift

    def routed(self, route):
        extension = self.schema.extension("route")
        return [
            message for message in self.schema.messages.values()
            if self.schema.name_of("Route", message.options.Extensions[extension]) == route]

    def check_routes(self):
        """Every message is reached from one that says who gets it."""
        reached = set()

        def visit(message):
            if message.name in reached:
                return
            reached.add(message.name)
            for field in message.fields:
                if field.inner:
                    visit(field.inner)

        for route in ("TO_COLLECTOR", "TO_DEVICE", "LOCAL"):
            for message in self.routed(route):
                visit(message)
        for kind in self.schema.kinds:
            visit(self.schema.body(kind))
        for name in self.schema.messages:
            if name not in reached:
                raise SchemaError(f"{name}: no message with a route holds it. Give it the option route")

    def class_of(self, field):
        """The class and the form of a field, both `None` for a message without a class of its own."""
        privacy, form = field.option("privacy"), field.option("form")
        privacy = self.schema.name_of("FieldClass", privacy) if privacy else None
        form = self.schema.name_of("PersonalForm", form) if form else None
        if privacy is None and not field.inner:
            raise SchemaError(
                f"{field}: the field leaves the device and has no privacy class. Give it [(privacy) = ...]")
        is_map = field.inner is not None and field.inner.is_map_entry
        if privacy is None and is_map:
            raise SchemaError(f"{field}: the values of the map have no privacy class. Give it [(privacy) = ...]")
        if field.inner:
            if privacy in ("TECHNICAL", "INHERITED") or form:
                raise SchemaError(f"{field}: the fields of {field.type_name} have classes and forms, not this one")
        elif privacy == "TECHNICAL":
            if form:
                raise SchemaError(f"{field}: a technical field has no form")
        elif form is None:
            raise SchemaError(f"{field}: a personal field needs a form. Give it [(form) = ...]")
        elif (form in TEXT_FORMS) != field.is_text or field.type not in NUMBER_FORMS.get(form, {field.type}):
            raise SchemaError(f"{field}: the form {form} does not fit its type")
        return privacy, form

    def table(self, message, only_text=None):
        """The name of the table of a message.

        only_text: the class that texts with an inherited class have; numbers are technical then.
        """
        name = constant(message.name)
        if only_text:
            name += "With" + camel(only_text).capitalize() + "Text"
        if name in self.tables:
            return name
        self.tables[name] = []
        rules, run = [], []

        def flush():
            if run:
                rules.append(f".technical({run[0].number}, {', '.join(text(field.name) for field in run)})")
                run.clear()

        for field in message.fields:
            privacy, form = self.class_of(field)
            if privacy == "INHERITED" and only_text:
                privacy = only_text if form in TEXT_FORMS else "TECHNICAL"
            if privacy == "TECHNICAL":
                if run and run[-1].number + 1 != field.number:
                    flush()
                run.append(field)
                continue
            flush()
            start = f"{field.number}, {text(field.name)}"
            if not field.inner:
                if privacy == "INHERITED":
                    rules.append(f".inherited({start}, .{camel(form)})")
                else:
                    rules.append(f".personal({start}, .{camel(privacy)}, .{camel(form)})")
            elif field.inner.is_map_entry:
                value = field.inner.field("value")
                of = f"of: {self.table(value.inner)}, " if value.inner else ""
                if not value.inner and value.type != Field.TYPE_STRING:
                    raise SchemaError(f"{field}: a map that leaves the device holds texts or messages")
                rules.append(f".map({start}, {of}.{camel(privacy)})")
            elif field.option("only_text"):
                rules.append(f".message({start}, {self.table(field.inner, only_text=privacy)})")
            else:
                end = f", .{camel(privacy)}" if privacy else ""
                rules.append(f".message({start}, {self.table(field.inner)}{end})")
        flush()
        lines = wrapped(f"static let {name} = MessageFields(", [text(message.name)] + rules, ")", "    ")
        del self.tables[name]
        self.tables[name] = lines
        return name

    def swift(self):
        self.check_routes()
        requests = [self.table(message) for message in self.routed("TO_COLLECTOR")]
        bodies = [(kind, self.table(self.schema.body(kind))) for kind in self.schema.kinds]
        lines = [
            HEADER + "import WireModel\n",
            "/// All fields of all messages that a device sends, with their privacy classes.",
            "///",
            "/// ``PrivacyFilter`` uses it for the bodies of records. Other messages (enrollment, batches, closes, uploads) are",
            "/// listed too: the schema does not compile to tables before somebody decided on the class of a field.",
            "enum FieldClasses {",
            "    /// Messages that leave the device unfiltered, with all messages inside them.",
            *wrapped("static let requests = [", requests, "]", "    "),
            "",
            "    /// The message in the body of a record of this kind; `nil` for kinds that this version does not make.",
            "    static func body(of kind: WireRecordKind) -> MessageFields? {",
            "        switch kind {",
            *(f"        case .{kind.swift}: {table}" for kind, table in bodies),
            *(f"        case .{kind.swift}: nil" for kind in self.schema.all_kinds
              if kind not in self.schema.kinds),
            "        case .unspecified, .UNRECOGNIZED: nil",
            "        }",
            "    }",
        ]
        for table in self.tables.values():
            lines += ["", *table]
        return "\n".join(lines + ["}", ""])


def constant(name):
    """`GPSSample` as `gpsSample`."""
    first = re.match(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]", name).group()
    return first.lower() + name[len(first):].replace(".", "")
