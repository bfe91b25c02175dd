import CollectorAPI
import JSON
import WireModel

/// A page of the console: one address, one template, and the forms on it.
protocol ConsolePage: Sendable {
    /// Segments in braces are parameters: `/devices/{device}`.
    var path: String { get }
    /// The role that a visitor needs to see it. The API decides on everything on it.
    var role: PersonRole { get }

    /// - Throws: `Problem`.
    func view(_ visit: Visit) async throws -> Answer

    /// Performs what a form asks for.
    /// - Parameter action: the form's field `action`.
    /// - Returns: `nil` if the page has no such form.
    /// - Throws: `Problem`. The page is then shown again with the reason, and with what was filled in.
    func perform(_ action: String, _ visit: Visit) async throws -> Outcome?
}

extension ConsolePage {
    var role: PersonRole { .viewer }
    func perform(_: String, _: Visit) async throws -> Outcome? { nil }
}

/// The answer of a page.
enum Answer: Sendable {
    case view(View)
    /// A table to download, with its column names first.
    case csv(name: String, rows: [[String]])
    /// A file like `csv`, for a table that is too long for memory.
    case longCSV(name: String, CSVPages)
    /// The address of a page, without the proxy's prefix.
    case redirect(String)
}

/// A template and its values.
struct View: Sendable {
    /// The name of a file in `Assets/templates`, without its extension.
    var template: String
    var title: String
    var values: [String: JSONValue]

    init(_ template: String, title: String, _ values: [String: JSONValue] = [:]) {
        self.template = template
        self.title = title
        self.values = values
    }
}

/// The outcome of a form.
enum Outcome: Sendable {
    /// Done. The browser goes to this address, which says what was done; without an address, to the same page.
    case done(String, at: String? = nil)
    /// A page that exists only as this answer, such as a new token's secret or a question before a deletion.
    case view(View)
}
