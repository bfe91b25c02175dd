import Foundation
import Synchronization

/// A service on a bus that answers calls as a test says, and sends signals.
package final class ScriptedBusService: Sendable {
    /// A method call; its arguments are text.
    package struct Call: Equatable, Sendable {
        package var path: String
        package var member: String
        package var arguments: [String]

        package init(path: String, member: String, arguments: [String]) {
            self.path = path
            self.member = member
            self.arguments = arguments
        }
    }

    package enum Answer: Sendable {
        case values([BusContent])
        /// An error's name.
        case error(String)
        /// The caller waits in vain.
        case silence
    }

    private struct State {
        var isStopped = false
        var signals: [(path: String, interface: String, member: String, values: [BusContent])] = []
        var calls: [Call] = []
    }

    private let state = Mutex(State())
    private let answer: @Sendable (Call) -> Answer

    /// - Parameters:
    ///   - name: is the service's once this returns.
    ///   - answer: called on the service's thread.
    package init(_ name: String, on bus: PrivateBus, answer: @escaping @Sendable (Call) -> Answer) throws {
        self.answer = answer
        // Only the thread uses it from here on.
        nonisolated(unsafe) let connection = try BusServiceConnection(name, bus.address)
        Thread.detachNewThread { while self.step(connection) {} }
    }

    /// Calls so far, in order.
    package var calls: [Call] { state.withLock { $0.calls } }

    /// Sends a signal soon.
    package func signal(_ path: String, _ interface: String, _ member: String, _ values: [BusContent] = []) {
        state.withLock { $0.signals.append((path, interface, member, values)) }
    }

    /// Hangs up, which ends its thread. The bus's end does that too.
    package func stop() { state.withLock { $0.isStopped = true } }

    /// - Returns: whether there is a next step.
    private func step(_ connection: BusServiceConnection) -> Bool {
        let (isStopped, signals) = state.withLock { state in
            defer { state.signals = [] }
            return (state.isStopped, state.signals)
        }
        guard !isStopped else { return false }
        for signal in signals { connection.send(signal.path, signal.interface, signal.member, signal.values) }
        return connection.serve { call in
            state.withLock { $0.calls.append(call) }
            return answer(call)
        }
    }
}

/// What a message contains.
package indirect enum BusContent: Sendable {
    case text(String)
    case path(String)
    case number(UInt32)
    case boolean(Bool)
    /// Closed here once a duplicate is in the message.
    case descriptor(CInt)
    case variant(BusContent)
    case structure([BusContent])
    case array(of: String, [BusContent])
    case entry(BusContent, BusContent)

    /// `a{sv}`.
    package static func properties(_ properties: [String: BusContent]) -> BusContent {
        .array(of: "{sv}", properties.map { .entry(.text($0.key), .variant($0.value)) })
    }

    /// Its type's signature (D-Bus specification, "Type System").
    var signature: String {
        switch self {
        case .text: "s"
        case .path: "o"
        case .number: "u"
        case .boolean: "b"
        case .descriptor: "h"
        case .variant: "v"
        case .structure(let members): "(" + members.map(\.signature).joined() + ")"
        case .array(let element, _): "a" + element
        case .entry(let key, let value): "{\(key.signature)\(value.signature)}"
        }
    }
}
