import CollectorAPI
import Foundation
import JSON
import Mustache
import TelemetryBasics
import WireModel

/// The web console: pages that the collector serves to administrators and support engineers.
///
/// A page asks the collector's HTTP API, in the same process and with the rights of the person who is signed in, and
/// fills a template with the answers. The HTTP server around it keeps sessions and checks forms (`ConsoleRouter`).
///
/// Safe from any thread.
package struct Console: Sendable {
    /// The answer that the browser gets.
    package struct Response: Sendable {
        package var status = 200
        package var contentType = "text/html; charset=utf-8"
        /// Further fields.
        package var headers: [(name: String, value: String)] = []
        package var body: Data
        /// The result of the last form, for the page that the browser loads next.
        package var note: String?
        /// Whether it is a page that has shown the visit's message.
        package var saysNote = false
        /// Writes what follows the body, for an answer that is too long for memory; `nil` if nothing does.
        package var rest: (@Sendable (_ write: (Data) async throws -> Void) async throws -> Void)?
    }

    /// Something that is wrong with the collector itself. Every page shows it.
    package struct Trouble: Sendable {
        package var isGrave: Bool
        /// Microseconds since 1970.
        package var since: Int64
        package var summary: String
        /// The detail for the collector's administrators.
        package var detail: String

        package init(isGrave: Bool, since: Int64, summary: String, detail: String) {
            (self.isGrave, self.since, self.summary, self.detail) = (isGrave, since, summary, detail)
        }
    }

    /// The troubles of now. It is called for each page, so it must not wait for anything.
    package var troubles: @Sendable () -> [Trouble] = { [] }
    /// When notices about silent devices begin, in microseconds since 1970; `nil` if they have begun.
    package var silenceNoticesFrom: @Sendable () -> Int64? = { nil }
    package let assets: Assets
    private let version: String
    private let table: [String: any ConsolePage]

    /// - Parameter version: of the collector; browsers keep assets of one version.
    package init(assets: Assets, version: String) {
        self.assets = assets
        self.version = version
        table = Dictionary(uniqueKeysWithValues: Self.pages.map { ($0.path, $0) })
    }

    /// The patterns of all pages' paths.
    package var paths: [String] { Self.pages.map(\.path) }

    /// Answers GET of a page.
    /// - Parameter pattern: one of `paths`.
    package func answer(_ pattern: String, _ visit: Visit) async throws -> Response {
        guard let page = table[pattern] else { return problem(.noPage, visit) }
        return try await refusing(visit) {
            try Self.require(page.role, visit)
            return response(try await page.view(visit), visit, done: visit.note)
        }
    }

    /// Answers a form that was sent to a page.
    package func answerForm(_ pattern: String, _ visit: Visit) async throws -> Response {
        guard let page = table[pattern] else { return problem(.noPage, visit) }
        return try await refusing(visit) {
            try Self.require(page.role, visit)
            let outcome: Outcome?
            do { outcome = try await page.perform(visit.form["action"] ?? "", visit) } catch let refusal as Problem {
                guard refusal.status != 401 else { throw refusal }
                return response(try await page.view(visit), visit, refusal: refusal)
            }
            switch outcome {
            case .done(let note, let address):
                var response = redirect(address ?? visit.query.address(visit.path), visit)
                response.note = note
                return response
            case .view(let view): return response(.view(view), visit)
            case nil:
                throw Problem(
                    status: 400, code: .invalidField, title: "No such form",
                    detail: "The page has no form with the action that was sent. Load it again.")
            }
        }
    }

    /// Shows a page again, with what was filled in, because its form was not accepted.
    package func refuseForm(_ pattern: String, _ visit: Visit, _ refusal: Problem) async throws -> Response {
        guard let page = table[pattern] else { return problem(.noPage, visit) }
        return try await refusing(visit) {
            try Self.require(page.role, visit)
            return response(try await page.view(visit), visit, refusal: refusal)
        }
    }

    /// The page that asks for a token.
    /// - Parameters:
    ///   - next: the address to go to afterwards.
    ///   - present: the person whose session the browser has; `nil` if it has none. A link then does not sign in by
    ///     itself, because it would replace that session.
    ///   - problem: why an attempt failed.
    package func signIn(next: String, present: String?, problem: Problem?, base: String) -> Response {
        let values: [String: JSONValue] = [
            "base": .text(base), "version": .text(version), "next": .text(next), "present": JSONValue(present),
            "problem": problem.map(Self.values) ?? .null,
        ]
        return html(status: problem?.status ?? 200, "sign-in", .object(values))
    }

    /// A page about a refusal. The visitor may be unknown.
    package func problem(_ problem: Problem, _ visit: Visit?, base: String = "") -> Response {
        let view = View("problem", title: problem.title, ["problem": Self.values(of: problem)])
        guard let visit else {
            let values = view.values.merging(["base": .text(base), "version": .text(version)]) { $1 }
            return html(status: problem.status, "problem-signed-out", .object(values))
        }
        return html(status: problem.status, view.template, layout(view, visit))
    }

    // MARK: -

    private static func require(_ role: PersonRole, _ visit: Visit) throws(Problem) {
        guard visit.visitor.role >= role else {
            throw Problem(
                status: 403, code: .forbidden, title: "Not for your role",
                detail: "This page needs the role \(role); your token has the role \(visit.visitor.role).")
        }
    }

    private func refusing(_ visit: Visit, _ operation: () async throws -> Response) async throws -> Response {
        do { return try await operation() } catch let refusal as Problem { return problem(refusal, visit) }
    }

    private func response(
        _ answer: Answer, _ visit: Visit, done: String? = nil, refusal: Problem? = nil
    ) -> Response {
        switch answer {
        case .view(var view):
            view.values["done"] = JSONValue(done)
            if let refusal { view.values["refusal"] = Self.values(of: refusal) }
            var response = html(status: refusal?.status ?? 200, view.template, layout(view, visit))
            response.saysNote = done != nil
            return response
        case .csv(let name, let rows):
            return Response(
                contentType: "text/csv; charset=utf-8",
                headers: [("Content-Disposition", "attachment; filename=\"\(name)\"")], body: CSV.text(rows))
        case .longCSV(let name, let pages):
            var response = response(.csv(name: name, rows: pages.first), visit)
            response.rest = { write in
                var cursor = pages.cursor
                while let here = cursor {
                    let page = try await pages.page(here)
                    try await write(CSV.text(page.rows))
                    cursor = page.next
                }
            }
            return response
        case .redirect(let address): return redirect(address, visit)
        }
    }

    private func redirect(_ address: String, _ visit: Visit) -> Response {
        Response(status: 303, headers: [("Location", visit.base + address)], body: Data())
    }

    private func html(status: Int, _ template: String, _ values: JSONValue) -> Response {
        let troubles = troubles().map { trouble -> JSONValue in
            [
                "severity": .text(trouble.isGrave ? "bad" : "warn"), "since": .text(Timestamp.text(trouble.since)),
                "summary": .text(trouble.summary), "detail": .text(trouble.detail),
            ]
        }
        let own: [String: JSONValue] = [
            "troubles": .array(troubles), "silenceNoticesFrom": JSONValue(silenceNoticesFrom().map(Timestamp.text)),
        ]
        let text = assets.templates.render(values.with(own), withTemplate: template) ?? ""
        return Response(status: status, body: Data(text.utf8))
    }

    private static func values(of problem: Problem) -> JSONValue {
        [
            "status": JSONValue(problem.status), "code": .text(problem.code), "title": .text(problem.title),
            "detail": JSONValue(problem.detail), "isSignedOut": .boolean(problem.status == 401),
        ]
    }

    /// A page's values with those of the frame around it.
    private func layout(_ view: View, _ visit: Visit) -> JSONValue {
        let visitor = visit.visitor
        let requests = visit.api.requests.filter { $0.method == "GET" }
        let frame: [String: JSONValue] = [
            "base": .text(visit.base),
            "version": .text(version),
            "title": .text(view.title),
            "formToken": .text(visit.formToken),
            "now": .text(Timestamp.text(visit.now)),
            "visitor": [
                "name": .text(visitor.name), "role": .text("\(visitor.role)"),
                "organization": JSONValue(visitor.organization),
                "isNarrowed": .boolean(visitor.isNarrowed),
                "isOfAllOrganizations": .boolean(visitor.organization == nil),
                "isOperator": .boolean(visitor.role >= .operator),
                "isAdministrator": .boolean(visitor.role >= .administrator),
                "isCollectorAdministrator": .boolean(visitor.isCollectorAdministrator),
            ],
            "navigation": .array(Self.navigation(visit)),
            "commands": .array(requests.map { .text($0.curl(origin: visit.origin, base: visit.base)) }),
            "query": .object(Dictionary(visit.query.fields.map { ($0.name, .text($0.value)) }) { first, _ in first }),
            "form": .object(Dictionary(visit.form.fields.map { ($0.name, .text($0.value)) }) { first, _ in first }),
            "path": .text(visit.path),
        ]
        return .object(frame.merging(view.values) { $1 })
    }

    private static func navigation(_ visit: Visit) -> [JSONValue] {
        sections.compactMap { section in
            let links = section.links.filter { link in
                visit.visitor.role >= link.role && (visit.visitor.organization == nil || !link.isOfCollector)
            }.map { link -> JSONValue in
                let isHere = visit.path == link.path || (link.path != "/" && visit.path.hasPrefix(link.path + "/"))
                return ["path": .text(link.path), "label": .text(link.label), "isHere": .boolean(isHere)]
            }
            return links.isEmpty ? nil : ["label": .text(section.label), "links": .array(links)]
        }
    }
}

extension Problem {
    package static let noPage = Problem(
        status: 404, code: .notFound, title: "No such page",
        detail: "The console has no page at this address.")
}
