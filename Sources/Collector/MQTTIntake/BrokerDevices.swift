import MQTTClient
import Registry
import Synchronization
import WireModel

/// What devices and the broker say of devices' connections to it, by the device's name at the broker.
///
/// It is a hint: it decides where news go, and what people see. It is in memory alone, because the broker keeps the
/// newest state of each name and gives it again after a start. Safe from any thread.
package final class BrokerDevices: Sendable {
    /// A device's connection to the broker, as people see it.
    package struct Connection: Equatable, Sendable {
        package enum State: String, Sendable, CaseIterable {
            case connected
            /// The broker lost it without a word.
            case lost
            /// The device ended it in order.
            case stopped
        }

        package var name: String
        package var state: State
        /// Microseconds since 1970 by the collector's clock; `nil` if it was so when the collector came.
        package var since: Int64?
    }

    private struct Entry {
        var connection: String
        var state: Connection.State
        var since: Int64?
        /// The device that it says it is.
        var device: DeviceID?
        /// Grows with each state that is heard.
        var order: Int
    }

    private struct States {
        var entries: [String: Entry] = [:]
        var names: [DeviceID: Set<String>] = [:]
        /// The devices whose credential came from a name.
        var proven: [String: DeviceID] = [:]
        var order = 0
        var online = 0

        mutating func set(_ name: String, to entry: Entry?) {
            if let former = entries[name] {
                if former.state == .connected { online -= 1 }
                if let device = former.device {
                    names[device]?.remove(name)
                    if names[device]?.isEmpty == true { names[device] = nil }
                }
            }
            entries[name] = entry
            guard let entry else { return }
            if entry.state == .connected { online += 1 }
            if let device = entry.device { names[device, default: []].insert(name) }
        }
    }

    /// More names are not remembered: their devices get no news, and ask at their intervals.
    static let maximumNames = 250_000
    /// News of a device go to so many of its names.
    static let namesPerDevice = 4

    private let states = Mutex(States())

    package init() {}

    /// - Returns: `false` if the message is no state.
    func heard(_ message: MQTTMessage, of name: String, at now: Int64) -> Bool {
        if message.payload.isEmpty {
            states.withLock { states in
                states.set(name, to: nil)
                states.proven[name] = nil
            }
            return true
        }
        guard let connection = message[":connection"], (1...64).contains(connection.utf8.count) else { return false }
        let state: Connection.State
        switch String(decoding: message.payload, as: UTF8.self) {
        case "online": state = .connected
        case "offline": state = message[":reason"] == "stopped" ? .stopped : .lost
        default: return false
        }
        let device = message[":device"].flatMap { DeviceID($0) }
        states.withLock { states in
            let former = states.entries[name]
            if former == nil, states.entries.count >= Self.maximumNames { return }
            // With a takeover the end of the former connection may come after the begin of the new one.
            if state != .connected, let former, former.connection != connection { return }
            states.order += 1
            let isSame = former?.connection == connection && former?.state == state
            states.set(
                name,
                to: Entry(
                    connection: connection, state: state,
                    since: isSame ? former?.since : message.isRetained ? nil : now,
                    device: device ?? (former?.connection == connection ? former?.device : nil), order: states.order))
        }
        return true
    }

    /// A request of this name had the credential of this device.
    func proved(_ name: String, _ device: DeviceID) {
        states.withLock { states in
            guard states.proven[name] != nil || states.proven.count < Self.maximumNames else { return }
            states.proven[name] = device
        }
    }

    /// Where news of a device go: the names that are online and say that they are this device, the newest first.
    func names(of device: DeviceID) -> [String] {
        states.withLock { states in
            (states.names[device] ?? []).compactMap { name -> (name: String, order: Int)? in
                guard let entry = states.entries[name], entry.state == .connected else { return nil }
                return (name, entry.order)
            }
            .sorted { $0.order > $1.order }.prefix(Self.namesPerDevice).map(\.name)
        }
    }

    /// The devices that say that they are online.
    var onlineDevices: [DeviceID] {
        states.withLock { states in
            states.names.filter { _, names in names.contains { states.entries[$0]?.state == .connected } }.map(\.key)
        }
    }

    var counts: (online: Int, offline: Int) {
        states.withLock { ($0.online, $0.entries.count - $0.online) }
    }

    /// A device's connection, as far as its credential has come from the same name; `nil` if nothing is known of one.
    package func connection(of device: DeviceID) -> Connection? {
        states.withLock { states in
            let proven = (states.names[device] ?? []).filter { states.proven[$0] == device }
            let newest = proven.compactMap { name in states.entries[name].map { (name, $0) } }
                .max { ($0.1.state == .connected ? 1 : 0, $0.1.order) < ($1.1.state == .connected ? 1 : 0, $1.1.order) }
            return newest.map { Connection(name: $0.0, state: $0.1.state, since: $0.1.since) }
        }
    }
}
