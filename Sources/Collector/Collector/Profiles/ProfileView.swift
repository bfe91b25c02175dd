import CollectorStore
import Foundation
import SwiftProtobuf
import TelemetryBasics
import WireModel

/// One revision of a profile as people see it.
struct ProfileView: Encodable {
    var organization: String
    /// Absent: the whole organization's.
    var application: String?
    var revision: UInt64
    var createdAt: String?
    /// Absent: nobody put it, the organization began with it.
    var author: String?
    var profile: JSONValue
    /// Settings that this revision has back at their defaults, because the one before it had them and it does not. Only
    /// in the answer to the request that made the revision.
    var reset: [ProfileDiff.Change]?

    init(_ row: ProfileRow) throws {
        organization = row.scope.organization
        application = row.scope.application.isEmpty ? nil : row.scope.application
        revision = row.revision
        createdAt = Timestamp.text(row.created)
        author = row.author.isEmpty ? nil : row.author
        profile = try ProfileDocument.json(row.profile)
    }

    /// What devices of a scope get.
    init(_ device: DeviceProfile, _ scope: ProfileScope) throws {
        organization = scope.organization
        application = scope.application.isEmpty ? nil : scope.application
        revision = device.revision
        profile = try ProfileDocument.json(try WireProfile.decode(device.bytes))
    }
}

extension JSONValue {
    /// The value with a merge patch (RFC 7396) applied: `null` removes a field, objects are merged, anything else
    /// replaces what was there.
    func merging(_ patch: JSONValue) -> JSONValue {
        guard case .object(let changes) = patch else { return patch }
        var fields: [String: JSONValue] = [:]
        if case .object(let own) = self { fields = own }
        for (name, change) in changes { fields[name] = change == .null ? nil : (fields[name] ?? .null).merging(change) }
        return .object(fields)
    }
}

extension ProfileDocument {
    /// What `read` takes: nothing that the collector sets, and never the privacy key.
    static func json(_ profile: WireProfile) throws -> JSONValue {
        var shown = profile
        shown.revision = 0
        shown.organization = ""
        shown.application = ""
        shown.privacyKey = Data()
        var options = JSONEncodingOptions()
        options.alwaysPrintInt64sAsNumbers = true
        let bytes: Data = try shown.jsonUTF8Bytes(options: options)
        guard case .object(var fields) = try JSONValue(parsing: bytes, limits: .own) else { return .object([:]) }
        if case .object(var sampling) = fields["sampling"] {
            // protobuf leaves an empty list out, and here it says "none".
            if profile.sampling.modulesGiven, sampling["modules"] == nil { sampling["modules"] = .array([]) }
            sampling["modulesGiven"] = nil
            fields["sampling"] = .object(sampling)
        }
        if case .object(var logging) = fields["logging"], profile.logging.level != .unspecified {
            logging["level"] = .text(EnumName.logLevel.name(profile.logging.level))
            fields["logging"] = .object(logging)
        }
        if !profile.privacy.isEmpty {
            fields["privacy"] = .object(profile.privacy.mapValues { .text(EnumName.privacyAction.name($0)) })
        }
        if case .array(let rules) = fields["transmission"] {
            fields["transmission"] = .array(
                zip(rules, profile.transmission).map { json, rule in
                    guard case .object(var fields) = json, !rule.networks.isEmpty else { return json }
                    fields["networks"] = .array(rule.networks.map { .text(EnumName.networkClass.name($0)) })
                    return .object(fields)
                })
        }
        if case .array(let fences) = fields["geofences"] {
            // protobuf leaves a coordinate of 0 out.
            fields["geofences"] = .array(
                zip(fences, profile.geofences).map { json, fence in
                    guard case .object(var fields) = json else { return json }
                    fields["latitude"] = .real(fence.latitude)
                    fields["longitude"] = .real(fence.longitude)
                    return .object(fields)
                })
        }
        return .object(fields)
    }
}

/// What differs between two documents, by place. Pure.
///
/// Objects are compared field by field, lists as a whole: an order that changed is a change.
struct ProfileDiff {
    struct Change: Encodable, Equatable {
        /// A JSON Pointer (RFC 6901): `/sampling/modules`.
        var path: String
        /// Absent where it was not there.
        var from: JSONValue?
        /// Absent where it is not there any more.
        var to: JSONValue?
    }

    /// In the order of their places.
    private(set) var changes: [Change] = []

    init(from: JSONValue, to: JSONValue) {
        compare(from, to, at: "")
    }

    /// Of the changes, each single setting that is not there any more, so that the default holds again.
    var removals: [Change] {
        changes.flatMap { change in change.to == nil ? Self.settings(change.from, at: change.path) : [] }
    }

    private static func settings(_ value: JSONValue?, at path: String) -> [Change] {
        guard case .object(let fields)? = value, !fields.isEmpty else {
            return [Change(path: path, from: value, to: nil)]
        }
        return fields.keys.sorted().flatMap { settings(fields[$0], at: "\(path)/\(escaped($0))") }
    }

    private static func escaped(_ name: String) -> String { name.replacing("~", with: "~0").replacing("/", with: "~1") }

    private mutating func compare(_ from: JSONValue?, _ to: JSONValue?, at path: String) {
        guard from != to else { return }
        guard case .object(let old)? = from, case .object(let new)? = to else {
            changes.append(Change(path: path, from: from, to: to))
            return
        }
        for name in Set(old.keys).union(new.keys).sorted() {
            compare(old[name], new[name], at: "\(path)/\(Self.escaped(name))")
        }
    }
}
