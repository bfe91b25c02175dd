import JSON

/// The forms that make tokens.
enum TokenForm {
    /// Seconds as the form sends them, and what they are.
    private static let lifetimes = [
        ("3600", "an hour"), ("86400", "a day"), ("604800", "7 days"), ("2592000", "30 days"), ("7776000", "90 days"),
        ("31536000", "a year"),
    ]

    /// What the form for a token of a person or script offers.
    static func accessChoices(_ visit: Visit) async throws -> [String: JSONValue] {
        [
            "organizations": Choice.list(
                try await visit.organizationNames(), chosen: visit.form["organization"]),
            "mayChooseAll": .boolean(visit.visitor.organization == nil),
            "roles": Choice.list(["viewer", "operator", "administrator"], chosen: visit.form["role"]),
            "lifetimes": Choice.list([("", "no time")] + lifetimes, chosen: visit.form["expires"]),
        ]
    }

    /// The body that makes an access token.
    static func access(_ form: FormFields) throws(APIProblem) -> JSONValue {
        try body("person", form, ["role": JSONValue(form.text("role"))])
    }

    private static func body(
        _ kind: String, _ form: FormFields, _ further: [String: JSONValue]
    ) throws(APIProblem) -> JSONValue {
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
