import CollectorAPI
import Foundation
import JSON
import Registry
import SwiftProtobuf
import TelemetryBasics
import WireModel

extension ProfileView {
    init(_ row: ProfileRow) throws {
        self.init()
        organization = row.scope.organization
        application = row.scope.application.isEmpty ? nil : row.scope.application
        revision = row.revision
        createdAt = Timestamp.text(row.created)
        author = row.author.isEmpty ? nil : row.author
        profile = try ProfileDocument.json(row.profile)
    }

    /// The profile that devices of a scope receive.
    init(_ device: DeviceProfile, _ scope: ProfileScope) throws {
        self.init()
        organization = scope.organization
        application = scope.application.isEmpty ? nil : scope.application
        revision = device.revision
        profile = try ProfileDocument.json(try WireProfile.decode(device.bytes))
    }
}

extension JSONValue {
    /// Applies a merge patch (RFC 7396): `null` removes a field, objects are merged, anything else replaces the value.
    func merging(_ patch: JSONValue) -> JSONValue {
        guard case .object(let changes) = patch else { return patch }
        var fields: [String: JSONValue] = [:]
        if case .object(let own) = self { fields = own }
        for (name, change) in changes { fields[name] = change == .null ? nil : (fields[name] ?? .null).merging(change) }
        return .object(fields)
    }
}

extension ProfileDocument {
    /// The form that `read` accepts: without fields that the collector sets, and never with the privacy key.
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
            // protobuf leaves out an empty list, which here means "none".
            if profile.sampling.modulesGiven, sampling["modules"] == nil { sampling["modules"] = .array([]) }
            sampling["modulesGiven"] = nil
            fields["sampling"] = .object(sampling)
        }
        if case .object(var detection) = fields["detection"] {
            if profile.detection.detectorsGiven, detection["detectors"] == nil { detection["detectors"] = .array([]) }
            detection["detectorsGiven"] = nil
            fields["detection"] = .object(detection)
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
            // protobuf leaves out a coordinate of 0.
            fields["geofences"] = .array(
                zip(fences, profile.geofences).map { json, fence in
                    guard case .object(var fields) = json else { return json }
                    guard fence.corners.isEmpty else {
                        fields["corners"] = .array(
                            fence.corners.map {
                                ["latitude": .real($0.latitude), "longitude": .real($0.longitude)]
                            })
                        return .object(fields)
                    }
                    fields["latitude"] = .real(fence.latitude)
                    fields["longitude"] = .real(fence.longitude)
                    return .object(fields)
                })
        }
        return .object(fields)
    }
}

/// The differences between two documents by position. Pure.
///
/// Objects are compared field by field, lists as a whole, so a changed order is a change.
struct ProfileDiff {
    /// The changes in the order of their positions.
    private(set) var changes: [ProfileChangeView] = []

    init(from: JSONValue, to: JSONValue) { compare(from, to, at: "") }

    /// The single settings that are gone, so their defaults apply again.
    var removals: [ProfileChangeView] {
        changes.flatMap { change in change.to == nil ? Self.settings(change.from, at: change.path) : [] }
    }

    private static func settings(_ value: JSONValue?, at path: String) -> [ProfileChangeView] {
        guard case .object(let fields)? = value, !fields.isEmpty else {
            return [ProfileChangeView(path, from: value, to: nil)]
        }
        return fields.keys.sorted().flatMap { settings(fields[$0], at: "\(path)/\(escaped($0))") }
    }

    private static func escaped(_ name: String) -> String { name.replacing("~", with: "~0").replacing("/", with: "~1") }

    private mutating func compare(_ from: JSONValue?, _ to: JSONValue?, at path: String) {
        guard from != to else { return }
        guard case .object(let old)? = from, case .object(let new)? = to else {
            changes.append(ProfileChangeView(path, from: from, to: to))
            return
        }
        for name in Set(old.keys).union(new.keys).sorted() {
            compare(old[name], new[name], at: "\(path)/\(Self.escaped(name))")
        }
    }
}

extension ProfileChangeView {
    fileprivate init(_ path: String, from: JSONValue?, to: JSONValue?) {
        self.init()
        (self.path, self.from, self.to) = (path, from, to)
    }
}
