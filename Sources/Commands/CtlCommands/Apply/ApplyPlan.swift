import CollectorClient
import CommandKit
import FoundationEssentials
import JSON
import TelemetryBasics
import WireModel

/// One difference between a document and the collector.
struct ApplyDifference: Encodable, Equatable {
    /// In the order in which they are listed.
    enum Action: String, Encodable, CaseIterable {
        case delete, change, add
    }

    var action: Action
    var document: String
    /// A JSON Pointer into the document's content.
    var path: String
    var from: JSONValue?
    var to: JSONValue?

    init(_ document: String, _ path: String, from: JSONValue?, to: JSONValue?) {
        action = to == nil ? .delete : from == nil ? .add : .change
        self.document = document
        self.path = path
        self.from = from
        self.to = to
    }

    /// The differences of two mappings, by name.
    static func of(_ document: String, _ root: String, _ from: [String: JSONValue], _ to: [String: JSONValue])
        -> [ApplyDifference]
    {
        Set(from.keys).union(to.keys).sorted().filter { from[$0] != to[$0] }.map { name in
            let token = name.replacing("~", with: "~0").replacing("/", with: "~1")
            return ApplyDifference(document, "\(root)/\(token)", from: from[name], to: to[name])
        }
    }

    var line: String {
        switch action {
        case .delete: "- \(document) \(path): \(from?.compactText ?? "null")"
        case .change: "~ \(document) \(path): \(from?.compactText ?? "null") -> \(to?.compactText ?? "null")"
        case .add: "+ \(document) \(path): \(to?.compactText ?? "null")"
        }
    }

    /// Deletions of all documents first, because nobody should overlook them.
    static func sorted(_ differences: [ApplyDifference]) -> [ApplyDifference] {
        Action.allCases.flatMap { action in differences.filter { $0.action == action } }
    }
}

/// A device that a document touches.
struct TouchedDevice: Encodable, Equatable {
    var id: String
    var name: String
    var application: String

    init?(_ item: JSONValue) {
        guard let id = item["id"]?.string else { return nil }
        self.id = id
        name = item["name"]?.string ?? ""
        application = item["application"]?.string ?? ""
    }
}

/// What one document changes, and how.
struct ApplyPlan {
    let title: String
    let file: String
    var differences: [ApplyDifference] = []
    var warnings: [String] = []
    var devices: [TouchedDevice] = []
    var carryOut: (Session) async throws -> Void = { _ in }

    /// As printed with --json.
    struct View: Encodable {
        var document: String
        var file: String
        var warnings: [String]
        var devices: [TouchedDevice]
    }

    var view: View { View(document: title, file: file, warnings: warnings, devices: devices) }

    /// The devices of a document, in a line.
    var devicesLine: String {
        let shown = devices.prefix(20).map { $0.name.isEmpty ? $0.id : $0.name }.joined(separator: ", ")
        let more = devices.count > 20 ? " and \(devices.count - 20) more; --json lists all" : ""
        let count = CountText.of(devices.count, "device")
        return "\(title) touches \(count)" + (devices.isEmpty ? "" : ": \(shown)\(more)")
    }
}

/// Compares documents with a collector. It changes nothing.
struct ApplyPlanner {
    let session: Session
    /// By organization: the devices that have neither left nor been revoked.
    private var devices: [String: [JSONValue]] = [:]

    init(_ session: Session) { self.session = session }

    /// A plan for each document that differs.
    /// - Throws: also if two documents are about the same.
    mutating func plans(_ documents: [ApplyDocument]) async throws -> [ApplyPlan] {
        var titles: [String: String] = [:]
        var plans: [ApplyPlan] = []
        for document in documents {
            let organization: String
            if let named = document.organization {
                organization = named
            } else {
                organization = try await session.requireOrganization()
            }
            let plan = try await plan(document, organization)
            if let other = titles.updateValue(document.file, forKey: plan.title) {
                throw CommandError(.usage, "\(other) and \(document.file) are both the \(plan.title): keep one")
            }
            if !plan.differences.isEmpty { plans.append(plan) }
        }
        return plans
    }

    private mutating func plan(_ document: ApplyDocument, _ organization: String) async throws -> ApplyPlan {
        switch document.kind {
        case .profile: try await profile(document, organization)
        case .logQuotas: try await logQuotas(document, organization)
        case .assignments: try await assignments(document, organization)
        }
    }

    private mutating func profile(_ document: ApplyDocument, _ organization: String) async throws -> ApplyPlan {
        let stored = try await StoredProfile.read(
            session, organization: organization, application: document.application)
        let change = try await ProfileChange(stored, to: document.content, session)
        var plan = ApplyPlan(title: stored.title, file: document.file)
        plan.differences = change.changes.map {
            ApplyDifference(stored.title, $0["path"]?.string ?? "/", from: $0["from"], to: $0["to"])
        }
        if stored.revision == nil, plan.differences.isEmpty {
            plan.differences = [ApplyDifference(stored.title, "/", from: nil, to: document.content)]
        }
        plan.warnings = change.warnings
        plan.devices = try await touched(organization) {
            document.application == nil || $0.application == document.application
        }
        plan.carryOut = { _ = try await change.put($0) }
        return plan
    }

    private mutating func logQuotas(_ document: ApplyDocument, _ organization: String) async throws -> ApplyPlan {
        let answer = try await session.json(CollectorCall(.get, "log-quotas", organization))
        var present: [String: JSONValue] = [:]
        for item in answer["items"]?.list ?? [] { present[item["application"]?.string ?? ""] = item["bytes"] }
        guard case .object(let wanted) = document.content else { return ApplyPlan(title: "", file: document.file) }
        var plan = ApplyPlan(title: "log quotas of \(organization)", file: document.file)
        plan.differences = ApplyDifference.of(plan.title, "", present, wanted)
        let changed = Set(present.keys).union(wanted.keys).filter { present[$0] != wanted[$0] }.sorted()
        plan.devices = try await touched(organization) { changed.contains($0.application) }
        plan.carryOut = { session in
            // Room is given back before it is given away.
            for application in changed where wanted[application] == nil {
                var call = CollectorCall(.delete, "log-quotas", organization)
                if !application.isEmpty { call.path.append(application) }
                _ = try await session.json(call)
            }
            for application in changed {
                guard let bytes = wanted[application] else { continue }
                var call = CollectorCall(.put, "log-quotas", organization)
                if !application.isEmpty { call.path.append(application) }
                _ = try await session.send(call, ["bytes": bytes])
            }
        }
        return plan
    }

    private mutating func assignments(_ document: ApplyDocument, _ organization: String) async throws -> ApplyPlan {
        let stored: JSONValue
        do {
            stored = try await session.json(CollectorCall(.get, "assignments", organization))
        } catch let error as CollectorClientError where error.problemCode == "not-found" {
            // The organization has never assigned anything.
            stored = [:]
        }
        let known = try await reachable(organization)
        var wanted = document.content
        if case .object(var members) = wanted {
            members["groups"] = .array(
                try (wanted["groups"]?.list ?? []).map { try Self.resolved($0, known, document) })
            wanted = .object(members)
        }
        let (groupsNow, groups) = (Self.groups(stored), Self.groups(wanted))
        let (applicationsNow, applications) = (Self.applications(stored), Self.applications(wanted))
        var plan = ApplyPlan(title: "assignments of \(organization)", file: document.file)
        plan.differences =
            ApplyDifference.of(plan.title, "/applications", applicationsNow, applications)
            + ApplyDifference.of(plan.title, "/groups", groupsNow, groups)
        // The groups whose devices get or lose an application; null stands for all devices.
        var scopes: Set<String?> = []
        for name in Set(applicationsNow.keys).union(applications.keys) {
            let (former, new) = (applicationsNow[name], applications[name])
            let changedGroup = new?.string.map { groupsNow[$0] != groups[$0] } ?? false
            guard former != new || changedGroup else { continue }
            for value in [former, new] { if let value { scopes.insert(value.string) } }
        }
        var ids: Set<String> = []
        for case let name? in scopes {
            for list in [groupsNow[name], groups[name]] { ids.formUnion((list?.list ?? []).compactMap(\.string)) }
        }
        plan.devices = try await touched(organization) { scopes.contains(nil) || ids.contains($0.id) }
        let list = wanted
        plan.carryOut = { session in
            var call = CollectorCall(.put, "assignments", organization)
            if let revision = stored["revision"] { call.headers.append(("If-Match", "\"\(revision.cell)\"")) }
            _ = try await session.send(call, list)
        }
        return plan
    }

    /// A group with the ids of its devices in place of names.
    private static func resolved(_ group: JSONValue, _ known: [JSONValue], _ document: ApplyDocument)
        throws(CommandError) -> JSONValue
    {
        guard case .object(var members) = group else {
            throw CommandError(.usage, "\(document.file): a group is `name` and `devices`")
        }
        var ids: [JSONValue] = []
        for device in members["devices"]?.list ?? [] {
            guard let name = device.string else {
                throw CommandError(.usage, "\(document.file): \(device.cell) is no device: quote names of digits")
            }
            if let id = DeviceID(name) {
                ids.append(.text("\(id)"))
            } else {
                ids.append(.text(try Session.choose("device", name, among: known)))
            }
        }
        members["devices"] = .array(ids)
        return .object(members)
    }

    /// Groups by name; the order of their devices means nothing.
    private static func groups(_ assignments: JSONValue) -> [String: JSONValue] {
        Dictionary(
            (assignments["groups"]?.list ?? []).map { group in
                let ids = (group["devices"]?.list ?? []).compactMap(\.string).sorted()
                return (group["name"]?.string ?? "", JSONValue.array(ids.map { .text($0) }))
            }
        ) { $1 }
    }

    /// The group of each application; null for all devices.
    private static func applications(_ assignments: JSONValue) -> [String: JSONValue] {
        Dictionary(
            (assignments["applications"]?.list ?? []).map { ($0["application"]?.string ?? "", $0["group"] ?? .null) }
        ) { $1 }
    }

    // MARK: Devices

    private mutating func reachable(_ organization: String) async throws -> [JSONValue] {
        if let known = devices[organization] { return known }
        var call = CollectorCall(
            .get, "devices",
            query: [("state", "enrolled,reporting,late,silent,off"), ("test", "true"), ("sort", "name")])
        // A session that looks at one organization adds its name by itself.
        if session.organization == nil { call.query.append(("organization", organization)) }
        let found = try await session.list(call).filter { $0["organization"]?.string == organization }
        devices[organization] = found
        return found
    }

    private mutating func touched(_ organization: String, _ isTouched: (TouchedDevice) -> Bool) async throws
        -> [TouchedDevice]
    {
        try await reachable(organization).compactMap(TouchedDevice.init).filter(isTouched)
    }
}
