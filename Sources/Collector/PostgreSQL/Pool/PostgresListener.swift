import CollectorTunables
import Dispatch
import Glibc
import Logging

/// A report of a listener.
package enum PostgresNotification: Sendable, Equatable {
    /// A connection listens now: the first one, or a new one after a loss. Also sent if notifications had to be dropped
    /// because nobody consumed them. The consumer reads anew whatever the channels report.
    case reconnected
    case notification(channel: String, payload: String)
}

extension PostgresDatabase {
    /// Listens to channels on a connection of its own, which is replaced after a loss.
    ///
    /// The stream ends with ``shutDown()``. The connection ends with the consumer's task or with the stream.
    package func listen(to channels: [String]) -> AsyncStream<PostgresNotification> {
        AsyncStream(bufferingPolicy: .bufferingOldest(PostgresListener.bufferedCount)) { continuation in
            do throws(PostgresError) {
                let event = try PollEvent()
                let helpers = helpers
                guard helpers.add(event) else {
                    continuation.finish()
                    return
                }
                let listener = PostgresListener(
                    channels: channels, connector: connector, event: event, continuation: continuation)
                continuation.onTermination = { _ in event.set() }
                DispatchQueue(label: "postgres-listener").async {
                    listener.run()
                    continuation.finish()
                    helpers.remove(event)
                }
            } catch {
                connector.logger.error(
                    "A listener of PostgreSQL cannot begin", metadata: ["error": "\(error)"])
                continuation.finish()
            }
        }
    }
}

/// The loop of one listener, on a thread of its own.
struct PostgresListener: Sendable {
    let channels: [String]
    let connector: PostgresConnector
    /// Set to end the loop.
    let event: PollEvent
    let continuation: AsyncStream<PostgresNotification>.Continuation

    /// Notifications that wait for the consumer. What comes beyond is dropped, and reported as `.reconnected` later.
    static let bufferedCount = 1024
    private static let probeInterval: Duration = .seconds(5)

    func run() {
        var pause = Tunables.Cluster.firstListenPause
        while !event.isSet {
            do throws(PostgresError) {
                let connection = try connector.connect()
                defer { connection.close() }
                connection.answerTimeout = min(connection.answerTimeout, Self.probeInterval)
                for channel in channels { try connection.command("LISTEN \(quoted(channel))") }
                pause = Tunables.Cluster.firstListenPause
                try receive(from: connection)
            } catch {
                connector.logger.warning(
                    "A listener has lost PostgreSQL", metadata: ["error": "\(error)", "pause": "\(pause)"])
                if event.wait(pause) { return }
                pause = min(pause * 2, Tunables.Cluster.longestListenPause)
            }
        }
    }

    /// Returns when the listener is to end.
    private func receive(from connection: PostgresConnection) throws(PostgresError) {
        // The consumer must look anew, and has not been informed yet.
        var mustReport = true
        while true {
            if mustReport { mustReport = !yield(.reconnected) }
            for (channel, payload) in connection.notifications() {
                if !yield(.notification(channel: channel, payload: payload)) { mustReport = true }
            }
            let isReadable = connection.waitForSocket(POLLIN, until: .now + Self.probeInterval, wakeup: event)
            if event.isSet { return }
            if isReadable {
                guard connection.readPending() else { throw connection.lost() }
            } else {
                try connection.command("SELECT 1")
            }
        }
    }

    /// - Returns: false if the consumer's buffer is full.
    private func yield(_ notification: PostgresNotification) -> Bool {
        if case .dropped = continuation.yield(notification) { return false }
        return true
    }
}

/// An identifier as SQL writes it, whatever characters it has.
func quoted(_ identifier: String) -> String {
    "\"\(identifier.replacing("\"", with: "\"\""))\""
}
