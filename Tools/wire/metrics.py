"""Which metric each numeric field of a sample is, as the catalog of MetricCatalog."""

from dataclasses import dataclass, field as default, replace

import conventions
from schema import HEADER, Field, SchemaError, camel, text


@dataclass(frozen=True)
class Place:
    """Where the walk through a sample is."""

    path: str = ""
    value: str = "sample"              # the message, in Swift
    present: str = ""                  # when it is there, in Swift
    loops: tuple = ()                  # lists on the way: (variable, list)
    attributes: tuple = ()             # of all metrics from here on: (field, value of its message)
    fixed: dict = default(default_factory=dict)
    without: frozenset = frozenset()
    prefix: str = ""
    suffix: str = ""
    about: str = ""
    kind: int = 0
    counted: str = "nil"               # microseconds for which cumulative counters have been counting, in Swift


@dataclass(frozen=True)
class Definition:
    name: str
    unit: str
    kind: str
    about: str

    @property
    def swift(self):
        return self.name.replace(".", "_")


class Metrics:
    def __init__(self, schema):
        self.schema = schema
        self.conventions = conventions.load()
        self.definitions = {}  # by name
        self.words = {}        # enums whose values are values of attributes
        self.uses = []         # where each metric is read, for the comparison with the conventions

    # What the schema says

    def definition(self, field, metric, place):
        name = place.prefix + metric.name + place.suffix
        kind = self.schema.declared.Metric.Kind.Name(place.kind or metric.kind)
        return self.declare(field, Definition(name, metric.unit, kind, metric.about + place.about))

    def declare(self, field, found):
        name, kind = found.name, found.kind
        if not (name.split(".")[-1] and found.unit and found.about) or kind == "UNSPECIFIED":
            raise SchemaError(f"{field}: the metric needs a name, a unit, a kind and words about it")
        if self.definitions.setdefault(name, found) != found:
            raise SchemaError(f"{field}: the metric {name} is declared before with another unit, kind or description")
        return found

    def metric(self, field):
        """The metric of a field, over what its message says of all."""
        own = field.option("metric")
        if own is None:
            return None
        merged = self.schema.declared.Metric()
        merged.CopyFrom(field.message.options.Extensions[self.schema.extension("all_metrics")])
        merged.MergeFrom(own)
        return merged

    def check(self, field):
        """Every number, truth value and enum of a sample is a metric, an attribute, or says why it is neither."""
        roles = [name for name in ("metric", "attribute", "no_metric") if field.option(name) is not None]
        if field.is_text or field.inner:
            if field.option("metric") or field.option("no_metric") or (field.inner and field.option("attribute")):
                raise SchemaError(f"{field}: only numbers, truth values and enums are metrics")
        elif not roles:
            raise SchemaError(
                f"{field}: the field of a sample is no metric and no attribute. Give it (metric), (attribute) or "
                "(no_metric) with the reason")
        if len(roles) > 1:
            raise SchemaError(f"{field}: has {' and '.join(roles)}, which exclude each other")
        if field.option("part") and not field.inner:
            raise SchemaError(f"{field}: only a message is a part")

    # The walk

    def entries(self, message, place, number=0):
        """The entries of the catalog for a message, in Swift."""
        own = tuple((field, place.value) for field in message.fields if field.option("attribute") is not None)
        place = replace(place, attributes=place.attributes + own, counted=self.counted(message, place))
        found = []
        for field in message.fields:
            self.check(field)
            path = f"{place.path}.{field.name}" if place.path else field.name
            value = f"{place.value}.{field.swift}"
            if field.inner:
                if field.inner.is_map_entry:
                    continue
                inner = self.part(field, replace(place, path=path))
                if field.is_list:
                    variable = f"element{len(inner.loops) or ''}"
                    inner = replace(inner, value=variable, present="", loops=inner.loops + ((variable, value),))
                else:
                    inner = replace(inner, value=value, present=f"{place.value}.{field.swift_presence}")
                found += self.entries(field.inner, inner)
            elif field.option("metric") is not None:
                if field.is_list:
                    raise SchemaError(f"{field}: a list of numbers is no metric")
                found += self.metrics(field, path, place)
        return found

    def counted(self, message, place):
        fields = [field for field in message.fields if field.option("counted_for")]
        if not fields:
            return place.counted
        field = fields[0]
        if len(fields) > 1 or not field.is_number or field.is_list or not field.name.endswith("_microseconds"):
            raise SchemaError(
                f"{message.name}: one field of microseconds says how long the counters have been counting")
        value = f"{place.value}.{field.swift}"
        if field.is_optional:
            return f"({place.value}.{field.swift_presence} ? {value} : nil)"
        return value

    def part(self, field, place):
        part = field.option("part")
        if part is None:
            return place
        return replace(
            place, prefix=place.prefix + part.prefix, suffix=part.suffix + place.suffix,
            about=part.about + place.about, kind=part.kind or place.kind,
            fixed={**place.fixed, **pairs(part)},
            without=place.without | frozenset(part.without))

    def metrics(self, field, path, place):
        """The entries of a field: that of its metric, and that of its share of another field."""
        metric = self.metric(field)
        definition = self.definition(field, metric, place)
        found = [self.entry(field, metric, definition, path, place)]
        if metric.HasField("share"):
            whole = field.message.field(metric.share.of)
            if whole is None or not whole.is_number or whole.is_list:
                raise SchemaError(
                    f"{field}: {field.message.name} has no number {metric.share.of}, of which it is a share")
            definition = self.declare(
                field, Definition(place.prefix + metric.share.name, "1", "GAUGE", metric.share.about))
            # As a share the scale of both does not matter, so both have the same one.
            found.append(self.entry(field, metric, definition, path, place, f"{place.value}.{whole.swift}"))
        return found

    def entry(self, field, metric, definition, path, place, whole=None):
        """The entry of a metric, in Swift; with `whole` of its share of that."""
        fixed = {**place.fixed, **pairs(metric)}
        always, sometimes = self.attributes(field, metric, place, fixed)
        self.uses.append(self.use(field, metric, definition, place, fixed))
        condition = self.condition(field, metric, place)
        if whole:
            condition = ", ".join(([condition] if condition else []) + [f"{whole} != 0"])
        counted = place.counted if definition.kind == "CUMULATIVE_COUNTER" else "nil"
        value = f"{place.value}.{field.swift}"
        body = []
        attributes = "[:]"
        if sometimes:
            body.append(f"var attributes: MetricAttributes = {dictionary(always)}")
            body += [f"if {test} {{ attributes[{text(name)}] = {given} }}" for test, name, given in sometimes]
            attributes = "attributes"
        elif always:
            attributes = dictionary(always)
        if metric.state:
            body += self.states(field, metric, value, attributes)
        elif field.enum:
            body.append(f"switch {value} {{")
            for meaning in metric.meaning:
                body.append(
                    f"case .{self.case(field, meaning)}: emit({number(meaning.number)}, {attributes}, {counted})")
            body += ["default: break", "}"]
        elif field.type == Field.TYPE_BOOL:
            body.append(f"emit({value} ? 1 : 0, {attributes}, {counted})")
        elif whole:
            body.append(f"emit({self.plain(field, metric, place)} / Double({whole}), {attributes}, {counted})")
        else:
            body.append(f"emit({self.scaled(field, metric, place)}, {attributes}, {counted})")
        if condition:
            body = [f"if {condition} {{", *indented(body), "}"]
        for variable, elements in reversed(place.loops):
            body = [f"for {variable} in {elements} {{", *indented(body), "}"]
        return [
            "entries.append(",
            f"    CatalogEntry(field: {text(path)}, metric: Definitions.{definition.swift}) {{ sample, emit in",
            *indented(indented(body)), "    })"]

    def use(self, field, metric, definition, place, fixed):
        """The metric with its attributes, as the conventions are asked about it."""
        found = {name: conventions.Attribute("string", (value,), True) for name, value in fixed.items()}
        for source, _ in place.attributes:
            attribute = source.option("attribute")
            if attribute.name in place.without:
                continue
            values = None
            if source.enum:
                values = tuple(value.own.lower() for value in source.enum.values if not value.is_unknown)
            elif attribute.if_true:
                values = (attribute.if_true, attribute.if_false)
            kind = "string" if source.is_text or values else "boolean" if source.type == Field.TYPE_BOOL else "int"
            always = not source.is_optional and not (source.enum and not attribute.unknown)
            for name in [attribute.name] + [copy.name for copy in metric.copy if copy.of == attribute.name]:
                found[name] = conventions.Attribute(kind, values, always)
        if metric.state:
            found[metric.state] = conventions.Attribute(
                "string", tuple(sorted({meaning.state for meaning in metric.meaning})), True)
        return conventions.Use(
            str(field), definition.name, definition.unit, definition.kind, found, metric.unregistered,
            {one.name: one.value for one in metric.beyond})

    def case(self, field, meaning):
        value = field.enum.value(meaning.of)
        if value is None:
            raise SchemaError(f"{field}: {field.enum.name} has no value {meaning.of}")
        return value.swift

    def states(self, field, metric, value, attributes):
        """A point for each state: 1 for the present one, 0 for the others."""
        by_state = {}
        for meaning in metric.meaning:
            by_state.setdefault(meaning.state, []).append("." + self.case(field, meaning))
        cases = [f"case {', '.join(cases)}: {text(state)}" for state, cases in by_state.items()]
        states = ", ".join(text(state) for state in by_state)
        return [
            "let present: String? =", *indented([f"switch {value} {{", *cases, "default: nil", "}"]),
            f"for state in present == nil ? [] : [{states}] {{",
            *indented([
                f"var own: MetricAttributes = {attributes}", f"own[{text(metric.state)}] = .text(state)",
                "emit(state == present ? 1 : 0, own, nil)"]),
            "}"]

    def plain(self, field, metric, place):
        """The number as it is in the field, as a Double."""
        if not field.is_number:
            raise SchemaError(f"{field}: a metric is a number, a truth value or an enum with meanings")
        fields = [field]
        if metric.plus:
            fields.append(field.message.field(metric.plus))
            if fields[1] is None or fields[1].type != field.type or fields[1].is_optional:
                raise SchemaError(f"{field}: {field.message.name} has no number {metric.plus} of the same type to add")
        values = [f"{place.value}.{one.swift}" for one in fields]
        if field.type != Field.TYPE_DOUBLE:
            values = [f"Double({value})" for value in values]
        return values[0] if len(values) == 1 else f"({' + '.join(values)})"

    def scaled(self, field, metric, place):
        plain = self.plain(field, metric, place)
        if metric.per:
            plain += f" / {number(metric.per)}"
        if metric.times:
            plain += f" * {number(metric.times)}"
        return plain

    def condition(self, field, metric, place):
        if field.is_optional:
            condition = f"{place.value}.{field.swift_presence}"
        else:
            condition = place.present
        tests = [condition] if condition else []
        if metric.zero_is_absent:
            tests = [f"{place.value}.{field.swift} != 0"]
        if metric.present_with:
            beside = field.message.field(metric.present_with)
            if beside is None:
                raise SchemaError(f"{field}: {field.message.name} has no field {metric.present_with}")
            tests.append(f"{place.value}.{beside.swift} != 0")
        return ", ".join(tests)

    def attributes(self, field, metric, place, fixed):
        """The attributes that a point always has, and those that it has under a condition."""
        always = {name: f".text({text(value)})" for name, value in fixed.items()}
        sometimes = []
        for source, value in place.attributes:
            attribute = source.option("attribute")
            if attribute.name in place.without:
                continue
            names = [attribute.name] + [copy.name for copy in metric.copy if copy.of == attribute.name]
            given, test = self.attribute(source, attribute, f"{value}.{source.swift}")
            if source.is_optional and not test:
                test = f"{value}.{source.swift_presence}"
            for name in names:
                if name in always:
                    raise SchemaError(f"{field}: has the attribute {name} twice")
                if test:
                    sometimes.append((test, name, given))
                else:
                    always[name] = given
        return always, sometimes

    def attribute(self, source, attribute, value):
        """The value in Swift, and the condition under which there is one."""
        if source.is_list:
            raise SchemaError(f"{source}: a list is no attribute")
        if source.type == Field.TYPE_STRING:
            return f".text({value})", ""
        if source.type == Field.TYPE_BOOL:
            if attribute.if_true:
                return f".text({value} ? {text(attribute.if_true)} : {text(attribute.if_false)})", ""
            return f".boolean({value})", ""
        if source.enum:
            self.words[source.enum.swift] = source.enum
            if attribute.unknown:
                return f".text({value}.attributeValue ?? {text(attribute.unknown)})", ""
            return ".text(name)", f"let name = {value}.attributeValue"
        if source.is_number and source.type not in (Field.TYPE_DOUBLE, Field.TYPE_FLOAT):
            return f".integer(Int64(clamping: {value}))", ""
        raise SchemaError(f"{source}: an attribute is a text, an integer, a truth value or an enum")

    # Files

    def sample(self, message):
        """The file of one kind of sample."""
        before = len(self.definitions)
        entries = self.entries(message, Place())
        new = list(self.definitions.values())[before:]
        interval = message.field("interval_microseconds")
        lines = [HEADER + "import WireModel\n", "extension Definitions {"]
        for one in new:
            lines += [
                f"    static let {one.swift} = MetricDefinition(",
                f"        name: {text(one.name)}, unit: {text(one.unit)}, kind: .{camel(one.kind)},",
                f"        description: {text(one.about)})"]
        lines += ["}", "", f"extension {message.swift}: CatalogedSample {{"]
        kind = f"[CatalogEntry<{message.swift}>]"
        # Statements instead of one literal: the compiler checks each closure by itself.
        lines += [
            "    package static let metricCatalog = entries()", "", f"    private static func entries() -> {kind} {{",
            f"        var entries: {kind} = []"]
        for entry in entries:
            lines += indented(indented(entry))
        lines += ["        return entries", "    }", "", "    package var sampleInterval: UInt64? {"]
        known = "hasIntervalMicroseconds ? intervalMicroseconds : nil" if interval else "nil"
        return "\n".join(lines + [f"        {known}", "    }", "}", ""])

    def files(self):
        """All files of the catalog, by name."""
        samples = self.schema.samples()
        files = {f"{message.name}+Metrics.swift": self.sample(message) for _, message, _ in samples}
        conventions.check(self.uses, self.conventions)
        lines = [
            HEADER + "import WireModel\n",
            "/// The definition of each metric.", "enum Definitions {}", "",
            "extension WireRecordKind {",
            "    /// The sample in the body of a record of this kind, if the catalog knows its fields.",
            "    package var catalogedSample: (any CatalogedSample.Type)? {",
            "        switch self {",
            *(f"        case .{kind.swift}: {message.swift}.self" for kind, message, _ in samples),
            "        default: nil", "        }", "    }", "}"]
        for enum in self.words.values():
            lines += [
                "", f"extension {enum.swift} {{",
                "    /// As the value of an attribute; `nil` if it is unknown or of a later version.",
                "    var attributeValue: String? {", "        switch self {"]
            for value in enum.values:
                word = "nil" if value.is_unknown else text(value.own.lower())
                lines.append(f"        case .{value.swift}: {word}")
            lines += ["        case .UNRECOGNIZED: nil", "        }", "    }", "}"]
        files["MetricCatalog+Generated.swift"] = "\n".join(lines + [""])
        return files

    def charts(self):
        """The charts that a device's page shows first. Call it after `files`."""
        lines = [HEADER, "extension MetricCharts {", "    /// The charts of a machine.", "    static let usual = ["]
        for chart in self.schema.options.Extensions[self.schema.extension("chart")]:
            for name in chart.metric:
                if name not in self.definitions:
                    raise SchemaError(f"The chart {chart.id} shows {name}, which is no metric")
            names = ", ".join(text(name) for name in chart.metric)
            lines += [
                "        Group(", f"            id: {text(chart.id)}, title: {text(chart.title)}, metrics: [{names}],",
                f"            isStacked: {str(chart.stacked).lower()},",
                f"            rest: ({text(chart.rest.name)}, {text(chart.rest.value)}))," if chart.rest.name
                else "            rest: nil),"]
        return "\n".join(lines + ["    ]", "}", ""])


def indented(lines):
    return ["    " + line for line in lines]


def pairs(option):
    """What it has under `with`, which is a word of Python too."""
    return {one.name: one.value for one in getattr(option, "with")}


def number(value):
    """1000000.0 as `1_000_000`."""
    return f"{int(value):_}" if value == int(value) else repr(value)


def dictionary(values):
    return "[" + ", ".join(f"{text(name)}: {value}" for name, value in values.items()) + "]" if values else "[:]"
