import CollectorClient
import CommandKit
import JSON
import WireModel

/// A profile as the collector has it: of an organization, or of one of its applications.
struct StoredProfile {
    let organization: String
    let application: String?
    /// `nil` if there is none yet.
    let revision: Int64?
    /// The profile's own settings, without those of the organization below it.
    let profile: JSONValue

    static func read(_ session: Session, organization: String, application: String?) async throws -> StoredProfile {
        let found = try await session.list(
            CollectorCall(
                .get, "profile-revisions", organization,
                query: [
                    ("application", application), ("own", application == nil ? "true" : nil), ("newest", "true"),
                ]), limit: 1)
        return StoredProfile(
            organization: organization, application: application, revision: found.first?["revision"]?.int64,
            profile: found.first?["profile"] ?? [:])
    }

    /// The title for people: `profile of acme`.
    var title: String { "profile of \(application.map { "\($0) in " } ?? "")\(organization)" }
}

/// A new content for a profile, as the collector has checked it.
struct ProfileChange {
    let stored: StoredProfile
    let profile: JSONValue
    /// What `validate` answered: changes, findings and risks.
    let verdict: JSONValue

    /// Has the collector check the profile. Nothing is changed.
    init(_ stored: StoredProfile, to profile: JSONValue, _ session: Session) async throws {
        self.stored = stored
        self.profile = profile
        verdict = try await session.send(
            CollectorCall(
                .post, "profile-revisions", stored.organization, "validate",
                query: [("application", stored.application)]), profile)
    }

    var changes: [JSONValue] { verdict["changes"]?.list ?? [] }
    var isEmpty: Bool { changes.isEmpty && stored.revision != nil }
    /// Settings that go, first: nobody should overlook them.
    var lines: [String] { Self.lines(changes) }

    var warnings: [String] {
        (verdict["findings"]?.list ?? []).map { "\($0["path"]?.string ?? ""): \($0["detail"]?.string ?? "")" }
            + (verdict["risks"]?.list ?? []).map { risk in
                """
                \(risk["detail"]?.string ?? risk["effect"]?.string ?? "") \
                (\(risk["devices"]?.cell ?? "?") devices get it, \(risk["devicesNow"]?.cell ?? "?") are concerned now)
                """
            }
    }

    static func lines(_ changes: [JSONValue]) -> [String] {
        func line(_ change: JSONValue) -> (order: Int, text: String) {
            let path = change["path"]?.string ?? "/"
            switch (change["from"], change["to"]) {
            case (let from?, nil): return (0, "- \(path): \(from.compactText)")
            case (let from?, let to?): return (1, "~ \(path): \(from.compactText) -> \(to.compactText)")
            case (nil, let to): return (2, "+ \(path): \(to?.compactText ?? "null")")
            }
        }
        return changes.map(line).enumerated().sorted { ($0.element.order, $0.offset) < ($1.element.order, $1.offset) }
            .map(\.element.text)
    }

    /// Stores the profile, unless somebody has changed it since it was read.
    func put(_ session: Session) async throws -> JSONValue {
        var call = CollectorCall(.put, "profiles", stored.organization)
        if let revision = stored.revision {
            call.headers.append(("If-Match", "\"\(revision)\""))
        } else {
            call.headers.append(("If-None-Match", "*"))
        }
        if let application = stored.application { call.path.append(application) }
        return try await session.send(call, profile)
    }

    /// Shows the change, asks, and stores it.
    func carryOut(_ session: Session, _ confirmation: ConfirmationOptions, isDryRun: Bool, _ output: OutputOptions)
        async throws
    {
        guard !isEmpty else {
            return try output.json
                ? Output.json(["changes": JSONValue.array([])] as JSONValue) : Output.line("no changes")
        }
        if isDryRun {
            return try output.json ? Output.json(verdict) : (lines + warnings.map { "! \($0)" }).forEach(Output.line)
        }
        (lines + warnings.map { "! \($0)" }).forEach(StandardError.line)
        try confirmation.confirm("The \(stored.title) changes")
        let new = try await put(session)
        if output.json { return try Output.json(new) }
        try Output.line("\(stored.title): revision \(new["revision"]?.cell ?? "?")")
    }
}
