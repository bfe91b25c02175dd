import Foundation
import Synchronization
import TestKit

/// logind on a private bus, as far as an agent asks it: the active session of seat0, delay inhibitors, and signals that
/// the test sends.
///
/// It answers as systemd 252 does (org.freedesktop.login1(5)), with one session, `/org/freedesktop/login1/session/_31`.
package final class ScriptedLogind: Sendable {
    private static let interface = "org.freedesktop.login1"
    private static let seat = "/org/freedesktop/login1/seat/seat0"
    private static let sessionPath = "/org/freedesktop/login1/session/_31"

    /// The session that is active at seat0.
    package struct Session: Sendable {
        package var name: String
        package var sessionClass: String

        package init(name: String, sessionClass: String = "user") {
            self.name = name
            self.sessionClass = sessionClass
        }
    }

    private struct State {
        var session: Session?
        var refusesInhibitors = false
        /// Our ends of the inhibitors, each a pair of sockets.
        var inhibitors: [CInt] = []
    }

    private final class Machine: Sendable {
        let state = Mutex(State())
        /// Counts the inhibitors ever given.
        let given = Watched(0)

        deinit { for descriptor in state.withLock({ $0.inhibitors }) { close(descriptor) } }
    }

    private let machine = Machine()
    private let service: ScriptedBusService

    package init(on bus: PrivateBus, session: Session? = nil, refusesInhibitors: Bool = false) throws {
        machine.state.withLock {
            $0.session = session
            $0.refusesInhibitors = refusesInhibitors
        }
        service = try ScriptedBusService(Self.interface, on: bus) { [machine] call in
            let answer = Self.answer(call, machine)
            if call.member == "Inhibit", case .values = answer { machine.given.change { $0 += 1 } }
            return answer
        }
    }

    private static func answer(_ call: ScriptedBusService.Call, _ machine: Machine) -> ScriptedBusService.Answer {
        machine.state.withLock { state in
            switch (call.path, call.member, call.arguments.last) {
            case (seat, "Get", "ActiveSession"): return .values([.variant(active(state.session))])
            case (sessionPath, "Get", "Name"): return .values([.variant(.text(state.session?.name ?? ""))])
            case (sessionPath, "Get", "Class"): return .values([.variant(.text(state.session?.sessionClass ?? ""))])
            case (_, "Inhibit", "delay") where !state.refusesInhibitors:
                var ends: [CInt] = [-1, -1]
                let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
                guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
                    return .error("org.freedesktop.DBus.Error.Failed")
                }
                state.inhibitors.append(ends[0])
                return .values([.descriptor(ends[1])])
            case (_, "Inhibit", _): return .error("org.freedesktop.DBus.Error.AccessDenied")
            default: return .error("org.freedesktop.DBus.Error.UnknownMethod")
            }
        }
    }

    private static func active(_ session: Session?) -> BusContent {
        .structure([.text(session == nil ? "" : "1"), .path(session == nil ? "/" : sessionPath)])
    }

    /// How many inhibitors are held: the other end is open.
    package var heldInhibitors: Int {
        machine.state.withLock { state in
            state.inhibitors.count { descriptor in
                var look = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                return poll(&look, 1, 0) == 0
            }
        }
    }

    /// Returns once one inhibitor is held.
    package func untilHeld() async throws { try await machine.given.untilCounted { heldInhibitors == 1 } }

    /// Waits until no inhibitor is held any more.
    /// - Returns: `false` if one still is after a minute.
    package func areReleased() async -> Bool {
        let inhibitors = machine.state.withLock { $0.inhibitors }
        await BlockingCall.run {
            for descriptor in inhibitors {
                var look = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                while poll(&look, 1, 60_000) < 0 {}
            }
        }
        return heldInhibitors == 0
    }

    /// The arguments of each request for an inhibitor.
    package var inhibitRequests: [[String]] { service.calls.filter { $0.member == "Inhibit" }.map(\.arguments) }

    /// `Unlock`.
    package func unlock() { service.signal(Self.sessionPath, "\(Self.interface).Session", "Unlock") }

    /// Sends the report of a desktop that locks and unlocks its screen by itself.
    package func hint(locked: Bool) {
        changed(Self.sessionPath, "\(Self.interface).Session", ["LockedHint": .boolean(locked)])
    }

    /// `PrepareForSleep`.
    package func sleep(_ isBeginning: Bool) { prepare("PrepareForSleep", isBeginning) }

    /// `PrepareForShutdown`.
    package func shutdown(_ isBeginning: Bool) { prepare("PrepareForShutdown", isBeginning) }

    private func prepare(_ what: String, _ isBeginning: Bool) {
        service.signal("/org/freedesktop/login1", "\(Self.interface).Manager", what, [.boolean(isBeginning)])
    }

    /// Another session, or none, becomes active at seat0.
    package func activate(_ session: Session?) {
        machine.state.withLock { $0.session = session }
        changed(Self.seat, "\(Self.interface).Seat", ["ActiveSession": Self.active(session)])
    }

    private func changed(_ path: String, _ interface: String, _ properties: [String: BusContent]) {
        service.signal(
            path, "org.freedesktop.DBus.Properties", "PropertiesChanged",
            [.text(interface), .properties(properties), .array(of: "s", [])])
    }

    package func stop() { service.stop() }
}
