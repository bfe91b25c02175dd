import Logging

/// Says once what is odd about a file, not once a second: again only when the oddity changes or returns.
struct OddFileTrace: Sendable {
    enum Oddity: Sendable, Equatable {
        /// The file, or the kernel feature behind it, does not exist here.
        case absent
        case denied
        case failed(errno: Int32)
        /// Longer than we read.
        case tooLong
        /// Read, but what is needed was not in it.
        case malformed
    }

    /// More odd files than this are not told apart from "already said".
    static let maximumFiles = 256

    private let logger: Logger
    private var said: [String: Oddity] = [:]

    init(logger: Logger) {
        self.logger = logger
    }

    /// Notes the state of a file after a reading; `nil` means all is well.
    mutating func note(_ path: String, _ oddity: Oddity?) {
        guard let oddity else {
            // Nearly always empty: a healthy machine pays nothing here.
            if !said.isEmpty { said[path] = nil }
            return
        }
        guard said[path] != oddity, said[path] != nil || said.count < Self.maximumFiles else { return }
        said[path] = oddity
        let metadata: Logger.Metadata = ["sample.file.path": "\(path)", "sample.file.problem": "\(oddity)"]
        switch oddity {
        case .absent:
            logger.info("a source of samples is absent; its fields are left out", metadata: metadata)
        case .denied, .failed, .tooLong, .malformed:
            logger.warning("a source of samples is odd; its fields are left out", metadata: metadata)
        }
    }
}
