import FoundationEssentials
import WireModel

/// Finds what a request asks for and cuts it into chunks: the port between requests, which keep the books, and the store.
protocol LogPlanner: Sendable {
    /// - Parameter since: microseconds since 1970, beside what the request says; `nil`: no more border.
    /// - Returns: one upload per type of log in which something was found, crashes first.
    func plan(_ request: LogRequest, since: Int64?) async throws(DataSamplerError) -> [PlannedLogs]

    /// Crashes that are kept here.
    /// - Parameter known: ordinals of those that are not asked for.
    func crashes(besides known: Set<UInt64>) async throws(DataSamplerError) -> [CrashUpload]
}

/// One crash, to be uploaded by itself.
struct CrashUpload: Equatable, Sendable {
    /// Of its segment.
    var ordinal: UInt64
    /// Ordinals of all crashes that are kept.
    var present: Set<UInt64>
    var logs: PlannedLogs
    /// Microseconds since 1970, when it was found.
    var time: Int64
}

/// Lines of one type, cut into chunks and not uploaded yet.
struct PlannedLogs: Equatable, Sendable {
    var type: LogType
    var level: LogLevel
    /// The store whose line numbers these are, 16 bytes.
    var logEpoch: Data
    var chunks: [WireUploadChunk]
    /// How the chunks are made again.
    var plan: Data
}
