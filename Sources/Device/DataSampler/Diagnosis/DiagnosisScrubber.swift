import FoundationEssentials
import LogStore
import RecordQueue
import Transmitter
import WireModel

/// Removes from a report what must not leave the device: credentials, tokens, the payload's texts, the privacy key, and
/// all that the scrub rules of profile and configuration name.
///
/// It knows them from the files of the data directory, which it only reads. A file that is there and cannot be read is
/// an error, because its secrets would stay in the report. A damaged file holds no secret that anybody uses.
package struct DiagnosisScrubber: Sendable {
    /// Shorter texts of a payload are words such as `on`, which would make a report unreadable.
    private static let leastPayloadBytes = 6

    private let scrubber: TextScrubber

    /// - Parameter configuration: as the agent runs with; its tokens and scrub rules count too.
    /// - Throws: `storage`, `identity` if a file cannot be read; `keyUnavailable` if one is sealed and its key is
    ///   not at hand; `invalidConfiguration` if a rule cannot be applied.
    package init(_ configuration: DataSamplerConfiguration) throws(DataSamplerError) {
        var rules = configuration.logScrubbing
        rules.values += [configuration.enrollmentToken].compactMap { $0 }
        let directory = configuration.directory
        let seal = StateSeal.keepingForm(configuration.deviceKey, in: directory)
        if case .content(.enrolled(let enrollment, _)) = try IdentityFile(directory: directory, seal: seal).read() {
            rules.values += [enrollment.credential, enrollment.formerCredential, enrollment.spareCredential]
                .compactMap { $0 }
        }
        let tokens = try Self.content(
            StateFile<PushTokenState>(directory: directory, name: PushTokenStore.fileName, seal: seal))
        rules.values += tokens?.texts ?? []
        if let stored = try Self.content(StoredProfile.file(in: directory, seal: seal)),
            let profile = try? WireProfile.decode(stored.profile)
        {
            let logging = profile.logging
            rules = rules.adding(LogScrubbing(values: logging.scrubValues, patterns: logging.scrubPatterns))
            rules.values += Self.texts(of: profile.customPayload)
            if !profile.privacyKey.isEmpty {
                rules.values += [profile.privacyKey.hexadecimal, profile.privacyKey.base64EncodedString()]
            }
        }
        rules.values.removeAll(where: \.isEmpty)
        do throws(LogStoreError) { scrubber = try TextScrubber(rules) } catch {
            throw DataSamplerError(.invalidConfiguration, error.message, cause: error)
        }
    }

    private static func content<Content>(_ file: StateFile<Content>) throws(DataSamplerError) -> Content? {
        do throws(DataSamplerError) { return try file.load() } catch {
            if error.code == .storageDamaged { return nil }
            throw error
        }
    }

    private static func texts(of payload: String) -> [String] {
        let texts = JSONValue(payload)?.strings ?? payload.split(whereSeparator: \.isNewline).map(String.init)
        return ([payload] + texts).filter { $0.utf8.count >= leastPayloadBytes }
    }

    /// Lines of text; each line by itself.
    package func scrubbed(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { scrubber.scrubbed(String($0)) }
            .joined(separator: "\n")
    }

    /// JSON: each key and each string as the words they are, whatever JSON escapes.
    package func scrubbed(_ json: JSONValue) -> JSONValue { json.mapStrings { scrubbed($0) } }
}
