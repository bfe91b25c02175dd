import CollectorAPI
import JSON
import TelemetryBasics
import WireModel

/// Access tokens of people and scripts, tokens with which devices enroll, and those with which programs send OTLP.
struct TokensPage: ConsolePage {
    let path = "/tokens"
    let role = PersonRole.administrator

    /// The time before its end from which a token is marked. For access tokens the collector's own notice comes then,
    /// too; enrollment tokens live for 30 days if nobody says otherwise.
    private static let warningSeconds = (access: Int64(30 * 86_400), enrollment: Int64(7 * 86_400))

    func view(_ visit: Visit) async throws -> Answer {
        if let id = visit.query.text("revoke") { return .view(try await question(id, visit)) }
        let query = visit.query.only(["kind", "cursor"])
        let page = try await visit.api.call(.listTokens, query)
        let values: [String: JSONValue] = [
            "items": .array(page.items.map { Self.shown($0, now: visit.now) }),
            "more": visit.more(page.next),
            "kinds": Choice.list(
                [
                    ("", "All"), ("person", "Access tokens"), ("enrollment", "Enrollment tokens"),
                    ("otlp", "Tokens for OTLP"),
                ], chosen: query["kind"]),
            "isFirst": .boolean(query["cursor"] == nil),
            "hasItems": .boolean(!page.items.isEmpty),
            "isRefused": .boolean(!visit.form.isEmpty),
        ]
        return .view(
            View("tokens", title: "Tokens", values.merging(try await TokenForm.accessChoices(visit)) { $1 }))
    }

    func perform(_ action: String, _ visit: Visit) async throws -> Outcome? {
        switch action {
        case "create-access":
            let token = try await visit.api.call(.createToken, body: TokenForm.access(visit.form))
            return .view(
                View(
                    "token-made", title: "Access token for \(token.name)",
                    [
                        "token": .of(token),
                        "signIn": .text("\(visit.origin)\(visit.base)/sign-in"),
                    ]))
        case "create-otlp":
            let token = try await visit.api.call(.createToken, body: TokenForm.otlp(visit.form))
            return .view(
                View(
                    "token-otlp", title: "Token for OTLP",
                    ["token": .of(token), "endpoint": .text("\(visit.origin)\(visit.base)")]))
        case "revoke":
            guard let id = visit.form.text("token") else { return nil }
            try await visit.api.call(.revokeToken(id))
            return .done("The token is revoked.", at: path)
        default: return nil
        }
    }

    private func question(_ id: String, _ visit: Visit) async throws -> View {
        let token = try await visit.api.all(.listTokens).first { $0.id == id }
        guard let token else {
            throw Problem(
                status: 404, code: .notFound, title: "No such token",
                detail: "You see no token with this id.")
        }
        let facts: [(label: String, value: JSONValue)] = [
            ("Name", .text(token.name)), ("Id", .text(token.id)), ("Role", JSONValue(token.role)),
            ("Organization", .text(token.organization ?? "all")),
            ("Devices that enrolled with it", .of(token.uses)),
        ]
        return Question(
            title: "Revoke this token?",
            text: consequence(of: token),
            facts: facts.filter { !$0.value.isNull },
            action: "revoke", fields: [("token", id)], button: "Revoke the token", back: path
        ).view
    }

    private func consequence(of token: TokenView) -> String {
        if token.isEnrollment { return "No further device can enroll with it. Devices that have enrolled go on." }
        if token.isOTLP {
            return "Programs that send OTLP with it are refused from now on, and drop what they would send. "
                + "This cannot be undone."
        }
        return
            "Whoever uses it is refused from now on, and its sessions in the console end. This cannot be undone."
    }

    private static func shown(_ token: TokenView, now: Int64) -> JSONValue {
        var added: [String: JSONValue] = [
            "isEnrollment": .boolean(token.isEnrollment), "isOTLP": .boolean(token.isOTLP),
            "canBeRevoked": .boolean(token.revokedAt == nil),
        ]
        if token.state == "good", let end = token.expiresAt.flatMap({ Timestamp.parse($0) }) {
            let left = max(0, (end - now) / 1_000_000)
            if left <= (token.isEnrollment ? warningSeconds.enrollment : warningSeconds.access) {
                added["endsInSeconds"] = .integer(left)
            }
        }
        return JSONValue.of(token).with(added)
    }
}

extension TokenView {
    fileprivate var isEnrollment: Bool { kind == "enrollment" }
    fileprivate var isOTLP: Bool { kind == "otlp" }
}
