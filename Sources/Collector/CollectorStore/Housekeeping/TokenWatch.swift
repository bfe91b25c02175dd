import Logging
import Synchronization
import WireModel

/// Raises a notice 30 days before the last of the administrators' tokens ends, and another at 7 days: of those for all organizations, and of each
/// organization that has some of its own. Both are over once one that lives longer was made.
package final class TokenWatch: Sendable {
    private let directory: String
    private let tokens: @Sendable () async throws -> [TokenRow]
    private let notices: NoticeService
    private let clock: any StoreClock
    private let logger: Logger
    private let told = Mutex<[String: String]?>(nil)

    /// - Parameters:
    ///   - directory: the data directory, for the command that makes another token.
    ///   - tokens: all there are, revoked ones too.
    package init(
        directory: String, notices: NoticeService, clock: any StoreClock, logger: Logger,
        tokens: @escaping @Sendable () async throws -> [TokenRow]
    ) {
        self.directory = directory
        self.tokens = tokens
        self.notices = notices
        self.clock = clock
        self.logger = logger
    }

    package func look() async {
        let present: [String: String]
        do { present = Self.ending(try await tokens(), directory: directory, at: clock.now()) } catch {
            logger.warning("the ends of tokens could not be looked at", metadata: ["error": "\(error)"])
            return
        }
        let isNews = told.withLock { told in
            defer { told = present }
            return told != present
        }
        if isNews { await notices.settle(.tokenExpiry, present) }
    }

    /// Subjects and details of what is to be told. Pure.
    static func ending(_ tokens: [TokenRow], directory: String, at now: Int64) -> [String: String] {
        let administrators = tokens.filter { $0.kind == .person && $0.role == .administrator && $0.revoked == nil }
        var ending: [String: String] = [:]
        for (organization, tokens) in Dictionary(grouping: administrators, by: \.organization) {
            // One without end is the last for ever.
            guard let last = tokens.max(by: { $0.expires ?? .max < $1.expires ?? .max }), let expires = last.expires,
                let threshold = ExpiryThreshold.days(until: expires, at: now)
            else { continue }
            let place = organization.map { " --organization \($0)" } ?? ""
            ending["administrator's token \(last.name) (\(last.id)), \(threshold) days"] =
                "The last administrator's token of \(organization ?? "all organizations"), \(last.name) (\(last.id)), ends at "
                + "\(LogTime.text(expires)): less than \(threshold) days are left. Make the next one at the collector's machine: "
                + "ws1collector token create --role administrator --name \(last.name)\(place) --expires-days 365 --data \(directory)"
        }
        return ending
    }
}
