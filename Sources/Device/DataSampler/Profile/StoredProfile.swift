import FoundationEssentials
import WireModel

/// `<data>/profile.json`: the last good profile, and under whom it was fetched.
struct StoredProfile: Codable, Equatable, Sendable {
    static let fileName = "profile.json"

    /// For people; the profile's own says the same.
    var revision: UInt64
    /// For `If-None-Match`; empty where the collector gave none.
    var etag: String
    /// Device and organization it was given to: another enrollment does not ask whether "it" has changed.
    var audience: String
    /// Wall clock, microseconds since 1970.
    var fetched: Int64
    /// The serialized `Profile`.
    var profile: Data

    static func file(in directory: String) -> StateFile<StoredProfile> { StateFile(directory: directory, name: fileName) }
}
