import CollectorAPI
import JSON

/// The person who is signed in, as far as pages need to know.
package struct Visitor: Sendable, Equatable {
    package var name: String
    package var role: PersonRole
    /// `nil` for all organizations.
    package var organization: String?
    /// The visitor sees all organizations, and has chosen to look at this one.
    package var isNarrowed: Bool

    package init(name: String, role: PersonRole, organization: String?, isNarrowed: Bool = false) {
        self.name = name
        self.role = role
        self.organization = organization
        self.isNarrowed = isNarrowed
    }

    /// An administrator of all organizations, who may see what belongs to the collector as a whole.
    var isCollectorAdministrator: Bool { role == .administrator && organization == nil }
}

/// One request of a browser for a page.
package struct Visit: Sendable {
    /// The path as the collector sees it, without the prefix of a reverse proxy.
    package var path: String
    /// The segments of the path that the page's pattern names, percent-decoded.
    package var parameters: [String: String]
    package var query: FormFields
    /// The fields of a form that was sent; empty for GET.
    package var form: FormFields
    package var visitor: Visitor
    /// The secret that each form of this session contains. A page of another site does not know it (CSRF).
    package var formToken: String
    /// The same for a form that is sent twice; `nil` without a form.
    package var formKey: String?
    /// The result of the last form, for the page to say once.
    package var note: String?
    /// Microseconds since 1970 by the collector's clock.
    package var now: Int64
    /// The prefix of a reverse proxy, such as `/telemetry`; empty without one.
    package var base: String
    /// Scheme and authority as the browser sees them, such as `https://collector.example`.
    package var origin: String
    package let api: APIClient

    package init(
        path: String, parameters: [String: String] = [:], query: FormFields = FormFields(),
        form: FormFields = FormFields(), visitor: Visitor, formToken: String, formKey: String? = nil,
        note: String? = nil, now: Int64, base: String = "",
        origin: String = "", api: APIClient
    ) {
        self.path = path
        self.parameters = parameters
        self.query = query
        self.form = form
        self.visitor = visitor
        self.formToken = formToken
        (self.formKey, self.note) = (formKey, note)
        self.now = now
        self.base = base
        self.origin = origin
        self.api = api
    }

    /// The address of the next page of a list; null at its end.
    func more(_ next: String?) -> JSONValue {
        JSONValue(next.map { base + query.with("cursor", $0).address(path) })
    }

    /// A parameter of the path. The pattern of the page names it.
    func parameter(_ name: String) -> String { parameters[name] ?? "" }

    /// A parameter as one segment of a path of the API.
    func segment(_ name: String) -> String { parameter(name).percentEncoded }
}
