import Foundation

/// A port that accepts connections and never says a word, as a frozen server does.
package final class SilentPort: Sendable {
    package let port: Int
    private let listener: Int32

    package init() throws { (listener, port) = try LoopbackPort.listen(backlog: 16) }

    deinit { close(listener) }
}
