import ListeningSockets
import LogStore
import OTLP
import TelemetryBasics
import WireModel

/// Takes in logs and metrics that programs send as OTLP/HTTP: logs into the log store, metrics into the device's queue.
///
/// ```
/// sender ──HTTP──► OTLPConnection ─► OTLPReceiver ─► OTLPInbox ─► read(into:) ─► committed() ─► 200
///                                         └────────► sink (the device's queue) ─────────────► 200
/// ```
///
/// There is no position: the sender keeps what was not answered with 200, and sends it again. So a kill loses nothing
/// that the sender does not give up. It doubles what was stored and not answered yet, as OTLP has it.
package final class OTLPIntake: IntakeSource {
    package struct Configuration: Sendable {
        /// At 127.0.0.1 and ::1; `nil`: nobody is reached by TCP. 0: the system chooses, in tests.
        package var port: UInt16?
        /// Path of a socket.
        package var socket: String?
        /// The group that may use the socket beside the agent's own user.
        package var group: String?
        /// Bytes of a body, as sent and after inflation.
        package var bodyBytes = 4 << 20
        /// Bytes of bodies in a day of UTC; `nil`: no bound.
        package var bytesPerDay: Int?
        /// Bytes of bodies that are received and of lines that wait to be stored. Four of the largest requests.
        package var memoryBytes: Int { max(16 << 20, 4 * bodyBytes) }
        var limits = OTLPConnection.Limits()

        package init(port: UInt16? = 4318, socket: String? = nil) {
            self.port = port
            self.socket = socket
        }
    }

    /// Messages and items of lists in a request. A full body of usual log records has as many; more than that takes
    /// memory in a way that its bytes do not show.
    private static let elements = 200_000
    /// Milliseconds between two looks at the addresses.
    private static let retryMilliseconds: Int64 = 1_000

    private let clock: IntakeClock
    private let inbox: OTLPInbox
    let server: OTLPServer
    /// Milliseconds since boot.
    private var nextTry = Int64.min
    private var isStopped = false

    /// - Parameters:
    ///   - arrives: called by another thread when log records should be read.
    ///   - sink: takes the data points.
    package init(
        _ configuration: Configuration, clock: IntakeClock = .system, arrives: @escaping @Sendable () -> Void = {},
        sink: @escaping OTLPMetricSink
    ) {
        self.clock = clock
        inbox = OTLPInbox(maximumBytes: configuration.memoryBytes, arrives: arrives)
        let limits = OTLPLimits(bodyBytes: configuration.bodyBytes, elements: Self.elements)
        server = OTLPServer(
            configuration.addresses, limits: limits, connectionLimits: configuration.limits, inbox: inbox,
            receiver: OTLPReceiver(
                limits: limits, bytesPerDay: configuration.bytesPerDay, inbox: inbox, sink: sink, clock: clock),
            clock: clock)
        listen()
    }

    deinit { server.stop() }

    /// Bytes of bodies that are received or worked on.
    var bodyBytes: Int { inbox.bodyBytes }

    package var lag: IntakeLag {
        let counts = server.receiver.counts
        var problems = server.problems
        for (count, what) in [(counts.refused, "refused"), (counts.postponed, "put off")] where count > 0 {
            problems.append("since the start \(CountText.of(Int(clamping: count), "request")) were \(what)")
        }
        if let reason = counts.reason { problems.append("the last of them: \(reason)") }
        return IntakeLag(
            bytes: inbox.waitingBytes, parts: server.parts, problems: problems, dataPoints: counts.points)
    }

    /// After a failure the sender has the lines, so nothing is read a second time.
    package func begin(at positions: [String: [UInt8]]) { inbox.settle(.failed) }

    package func committed() { inbox.settle(.stored) }

    package func read(into batch: inout IntakeBatch) -> Bool {
        listen()
        while !batch.isFull {
            guard let lines = inbox.next() else { return false }
            for line in lines { batch.add(line.entry, at: line.time) }
        }
        return true
    }

    package func stop() -> Bool {
        isStopped = true
        server.stop()
        return true
    }

    package func end() {
        inbox.expire(before: .max)
        server.end()
    }

    private func listen() {
        let now = clock.bootMilliseconds()
        guard !isStopped, now >= nextTry else { return }
        nextTry = now + Self.retryMilliseconds
        server.listen()
    }
}

extension OTLPIntake.Configuration {
    var addresses: [OTLPServer.Address] {
        var addresses: [OTLPServer.Address] = []
        if let port {
            addresses.append(.init(place: .internet(host: "127.0.0.1", port: port)))
            addresses.append(.init(place: .internet(host: "::1", port: port), isOptional: true))
        }
        if let socket { addresses.append(.init(place: .path(socket), group: group)) }
        return addresses
    }
}

extension OTLPServer.Address {
    var access: ListeningSocket.Access { group.map { .group($0) } ?? .owner }
}
