/// Why the browser or a page of it did not do what a test asked for.
package struct BrowserError: Error, CustomStringConvertible {
    package enum Code: Sendable {
        /// Chromium or a file that the kit needs is not installed.
        case missing
        /// The browser is gone.
        case ended
        /// The page is gone: its process crashed, or it was closed.
        case pageEnded
        /// Something did not come about within its time limit.
        case timedOut
        /// The browser refused a command of its protocol.
        case refused
        /// A script of the test threw an error.
        case script
        /// A document could not be loaded.
        case notLoaded
    }

    package let code: Code
    package let description: String

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }

    /// - Parameter what: what was waited for, as the end of a sentence.
    static func timedOut(_ limit: Duration, waitingFor what: String) -> BrowserError {
        BrowserError(.timedOut, "waited \(limit.formatted) in vain for \(what)")
    }
}

extension Duration {
    fileprivate var formatted: String {
        let milliseconds = components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
        return milliseconds % 1000 == 0 ? "\(milliseconds / 1000) s" : "\(milliseconds) ms"
    }
}
