/// What a store could not do.
package struct StoreError: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable {
        /// No space or no inodes left.
        case diskFull = "disk-full"
        case io
        case corrupt
        /// Made by a newer version.
        case newerVersion = "newer-version"
        /// Another process holds the data directory.
        case inUse = "in-use"
        case notFound = "not-found"
        case conflict
        case invalid
        case shuttingDown = "shutting-down"
        case internalFault = "internal"
    }

    package var code: Code
    /// What failed, on which file, with which numbers, and the remedy.
    package var message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { "\(code.rawValue): \(message)" }
}
