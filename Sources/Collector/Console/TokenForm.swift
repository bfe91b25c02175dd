import JSON
import WireModel

/// The forms that make tokens.
enum TokenForm {
    /// Seconds as the form sends them, and what they are.
    private static let lifetimes = [
        ("3600", "an hour"), ("86400", "a day"), ("604800", "7 days"), ("2592000", "30 days"), ("7776000", "90 days"),
        ("31536000", "a year"),
    ]

    /// The choices of the form for a token of a person or script.
    static func accessChoices(_ visit: Visit) async throws -> [String: JSONValue] {
        [
            "organizations": Choice.list(
                try await visit.organizationNames(), chosen: visit.form["organization"]),
            "mayChooseAll": .boolean(visit.visitor.organization == nil),
            "roles": Choice.list(["viewer", "operator", "administrator", "scraper"], chosen: visit.form["role"]),
            "lifetimes": Choice.list([("", "no time")] + lifetimes, chosen: visit.form["expires"]),
        ]
    }

    /// The choices of the form for an enrollment token.
    static func enrollmentChoices(_ visit: Visit) async throws -> [String: JSONValue] {
        [
            "organizations": Choice.list(
                try await visit.organizationNames(),
                chosen: visit.form["organization"] ?? visit.query["organization"]),
            "lifetimes": Choice.list(lifetimes, chosen: visit.form["expires"] ?? "2592000"),
        ]
    }

    /// The body that makes an enrollment token and URL.
    static func enrollment(_ form: FormFields) throws(Problem) -> JSONValue {
        var further: [String: JSONValue] = ["address": JSONValue(form.text("address"))]
        if !form.isChecked("pinned") { further["pinned"] = false }
        if form.isChecked("unlimited") {
            further["unlimited"] = true
        } else {
            further["maximumUses"] = try form.integer("maximumUses", label: "The number of devices")
        }
        return try body("enrollment", form, further)
    }

    /// The body that makes an access token.
    static func access(_ form: FormFields) throws(Problem) -> JSONValue {
        try body("person", form, ["role": JSONValue(form.text("role"))])
    }

    /// The body that makes a token for OTLP.
    static func otlp(_ form: FormFields) throws(Problem) -> JSONValue { try body("otlp", form, [:]) }

    private static func body(
        _ kind: String, _ form: FormFields, _ further: [String: JSONValue]
    ) throws(Problem) -> JSONValue {
        var body = further
        body["kind"] = .text(kind)
        body["name"] = JSONValue(form.text("name"))
        body["organization"] = JSONValue(form.text("organization"))
        // A day beats a lifetime: one of the lifetimes is always chosen.
        if let day = form.text("expiresAt") {
            body["expiresAt"] = .text(day)
        } else {
            body["expiresInSeconds"] = try form.integer("expires", label: "The lifetime")
        }
        return .object(body.filter { $0.value != .null })
    }
}
