import JSON
import TelemetryBasics

/// Access tokens of people and scripts, and tokens with which devices enroll.
struct TokensPage: Page {
    let path = "/tokens"
    let role = Visitor.Role.administrator

    /// The time before its end from which a token is marked. For access tokens the collector's own notice comes then,
    /// too; enrollment tokens live for 30 days if nobody says otherwise.
    private static let warningSeconds = (access: Int64(30 * 86_400), enrollment: Int64(7 * 86_400))

    func view(_ visit: Visit) async throws -> Answer {
        if let id = visit.query.text("revoke") { return .view(try await question(id, visit)) }
        let query = visit.query.only(["kind", "cursor"])
        let page = try await visit.api.get("/api/v1/tokens", query)
        let values: [String: JSONValue] = [
            "items": .array(page.pageItems.map { Self.shown($0, now: visit.now) }),
            "more": page.more(at: visit),
            "kinds": Choice.list(
                [("", "All"), ("person", "Access tokens"), ("enrollment", "Enrollment tokens")], chosen: query["kind"]),
            "isFirst": .boolean(query["cursor"] == nil),
            "hasItems": .boolean(!page.pageItems.isEmpty),
            "isRefused": .boolean(!visit.form.isEmpty),
        ]
        return .view(
            View("tokens", title: "Tokens", values.merging(try await TokenForm.accessChoices(visit)) { $1 }))
    }

    func perform(_ action: String, _ visit: Visit) async throws -> Outcome? {
        switch action {
        case "create-access":
            let token = try await visit.api.send("POST", "/api/v1/tokens", body: TokenForm.access(visit.form))
            return .view(
                View(
                    "token-made", title: "Access token for \(token["name"].text ?? "")",
                    [
                        "token": token,
                        "signIn": .text("\(visit.origin)\(visit.base)/sign-in"),
                    ]))
        case "revoke":
            guard let id = visit.form.text("token") else { return nil }
            try await visit.api.send("DELETE", "/api/v1/tokens/\(id.percentEncoded)")
            return .done("The token is revoked.", at: path)
        default: return nil
        }
    }

    private func question(_ id: String, _ visit: Visit) async throws -> View {
        let token = try await visit.api.all("/api/v1/tokens").first { $0["id"].text == id }
        guard let token else {
            throw APIProblem(
                status: 404, code: "not-found", title: "No such token",
                detail: "You see no token with this id.")
        }
        let isEnrollment = token["kind"].text == "enrollment"
        return Question(
            title: "Revoke this token?",
            text: isEnrollment
                ? "No further device can enroll with it. Devices that have enrolled go on."
                : "Whoever uses it is refused from now on, and its sessions in the console end. This cannot be undone.",
            facts: [
                ("Name", token["name"]), ("Id", token["id"]), ("Role", token["role"]),
                ("Organization", token["organization"] == .null ? "all" : token["organization"]),
                ("Devices that enrolled with it", token["uses"]),
            ].filter { $0.1 != .null && $0.1 != .text("") },
            action: "revoke", fields: [("token", id)], button: "Revoke the token", back: path
        ).view
    }

    private static func shown(_ token: JSONValue, now: Int64) -> JSONValue {
        let isEnrollment = token["kind"].text == "enrollment"
        var added: [String: JSONValue] = [
            "isEnrollment": .boolean(isEnrollment),
            "canBeRevoked": .boolean(token["revokedAt"] == .null),
        ]
        if token["state"].text == "good", let end = token["expiresAt"].text.flatMap({ Timestamp.parse($0) }) {
            let left = max(0, (end - now) / 1_000_000)
            if left <= (isEnrollment ? warningSeconds.enrollment : warningSeconds.access) {
                added["endsInSeconds"] = .integer(left)
            }
        }
        return token.with(added)
    }
}
