import Dispatch
import Glibc

/// Somebody who uses the machine, as logind and the user database know them.
package struct SessionUser: Equatable, Sendable {
    /// The login name.
    package var name: String
    /// The first field of the user database's comment (GECOS); `nil` if it is empty.
    package var fullName: String?

    package init(name: String, fullName: String? = nil) {
        self.name = name
        self.fullName = fullName
    }
}

/// A report of logind.
package enum LogindEvent: Equatable, Sendable {
    /// Signals arrive from now on.
    case connected
    /// Whether logind waits for us before sleep and shutdown; if not, why.
    case delaying(failure: String?)
    /// Who uses the machine now; `nil`: nobody.
    case user(SessionUser?)
    case locked
    /// May be reported twice for one unlock.
    case unlocked
    /// The machine is about to sleep or to shut down. logind waits for ``LogindConnection/letGo()``, by default for up
    /// to five seconds.
    case pausing
    /// The machine woke up, or the shutdown was called off.
    case resumed
    /// There is no connection (any more); why. The last event.
    case ended(String)
}

/// A conversation with logind over the system bus (org.freedesktop.login1(5)).
///
/// It listens to signals of all sessions, as a service belongs to none:
///
/// | logind | event |
/// |---|---|
/// | `Unlock`, or a session's `LockedHint` becomes false | `unlocked` |
/// | `Lock`, or a session's `LockedHint` becomes true | `locked` |
/// | `PrepareForSleep`, `PrepareForShutdown` | `pausing` or `resumed` |
/// | `ActiveSession` of seat0 changes | `user` |
///
/// `Unlock` asks a desktop to unlock its screen. Desktops that unlock by themselves, after the person gave the
/// password, only report it with `LockedHint`. So both count.
///
/// The user is the one of the active session at seat0, the machine's own screen. A login screen is nobody, and neither
/// is somebody who is logged in from elsewhere.
///
/// All of it happens on a serial queue, which a source wakes when the bus has something. In between nothing runs.
package final class LogindConnection: Sendable {
    /// Ends after `ended`, or when nobody iterates any more. Then the connection is closed and the inhibitor let go.
    package let events: AsyncStream<LogindEvent>
    private let queue = DispatchQueue(label: "ws1.logind", qos: .utility)
    private let conversation: Conversation

    /// Begins to connect.
    /// - Parameter address: of the bus.
    package init(address: String) {
        let (events, continuation) = AsyncStream.makeStream(of: LogindEvent.self)
        self.events = events
        conversation = Conversation(events: continuation)
        continuation.onTermination = { [queue, conversation] _ in queue.async { conversation.close() } }
        queue.async { [queue, conversation] in conversation.open(address, on: queue) }
    }

    /// Requests a delay inhibitor, so that logind waits for ``letGo()`` before sleep and shutdown. An event says
    /// whether it was given: logind gives none while one of the two is under way.
    package func hold() { queue.async { [conversation] in conversation.hold() } }

    /// Lets the machine sleep or shut down.
    package func letGo() { queue.async { [conversation] in conversation.letGo() } }
}

/// The state that belongs to the queue of a ``LogindConnection``.
// Unchecked, because only blocks of one serial queue touch its state.
private final class Conversation: @unchecked Sendable {
    private static let service = "org.freedesktop.login1"
    private static let manager = "\(service).Manager"
    private static let session = "\(service).Session"
    private static let seat = "\(service).Seat"
    private static let managerPath = "/org/freedesktop/login1"
    /// The seat of the machine's own screen; every logind has it.
    private static let seatPath = "\(managerPath)/seat/seat0"
    private static let properties = "org.freedesktop.DBus.Properties"
    /// Each of them ends with the sender, which the bus checks.
    private static let rules = [
        "interface='\(session)',member='Lock'", "interface='\(session)',member='Unlock'",
        "interface='\(manager)',member='PrepareForSleep'", "interface='\(manager)',member='PrepareForShutdown'",
        "interface='\(properties)',member='PropertiesChanged',arg0='\(session)'",
        "interface='\(properties)',member='PropertiesChanged',arg0='\(seat)'",
    ].map { "type='signal',\($0),sender='\(service)'" }
    /// logind answers from memory.
    private static let milliseconds: Int64 = 5000

    private let events: AsyncStream<LogindEvent>.Continuation
    private var bus: BusConnection?
    private var source: (any DispatchSourceRead)?
    /// -1: not held.
    private var inhibitor: CInt = -1

    init(events: AsyncStream<LogindEvent>.Continuation) { self.events = events }

    func open(_ address: String, on queue: DispatchQueue) {
        do throws(BusConnection.Failure) {
            let bus = try BusConnection(address, milliseconds: Self.milliseconds)
            self.bus = bus
            for rule in Self.rules { try bus.subscribe(rule) }
            // Fails where no logind is.
            try readUser(bus)
            events.yield(.connected)
            let source = DispatchSource.makeReadSource(fileDescriptor: bus.descriptor, queue: queue)
            source.setEventHandler { [unowned self] in hear() }
            // The descriptor must be open until the source is gone.
            source.setCancelHandler { _ = bus }
            self.source = source
            source.activate()
            // What arrived during the calls is not announced by the descriptor again.
            hear()
        } catch {
            end("\(error)")
        }
    }

    private func end(_ why: String) {
        events.yield(.ended(why))
        events.finish()
        close()
    }

    func close() {
        letGo()
        source?.cancel()
        source = nil
        bus = nil
    }

    // MARK: Signals

    private func hear() {
        guard let bus else { return }
        do throws(BusConnection.Failure) {
            while let signal = try bus.nextSignal() { try consume(signal, bus) }
        } catch {
            end("\(error)")
        }
    }

    private func consume(_ signal: BusConnection.Signal, _ bus: BusConnection) throws(BusConnection.Failure) {
        switch (signal.interface, signal.member) {
        case (Self.session, "Lock"): events.yield(.locked)
        case (Self.session, "Unlock"): events.yield(.unlocked)
        case (Self.manager, "PrepareForSleep"), (Self.manager, "PrepareForShutdown"):
            guard let isBeginning = signal.values.first?.booleanValue else { return }
            events.yield(isBeginning ? .pausing : .resumed)
        case (Self.properties, "PropertiesChanged"):
            guard signal.values.count == 3 else { return }
            if let isLocked = signal.values[1]["LockedHint"]?.booleanValue {
                events.yield(isLocked ? .locked : .unlocked)
            }
            if signal.path == Self.seatPath, signal.values[1]["ActiveSession"] != nil { try readUser(bus) }
        default: break
        }
    }

    // MARK: Calls

    private func readUser(_ bus: BusConnection) throws(BusConnection.Failure) {
        bus.allow(milliseconds: Self.milliseconds)
        let active = try bus.property("ActiveSession", of: Self.seat, at: Self.seatPath, destination: Self.service)
        guard active.members.count == 2, let id = active.members[0].textValue, let path = active.members[1].textValue
        else { throw .malformed }
        events.yield(.user(id.isEmpty ? nil : try user(ofSession: path, bus)))
    }

    private func user(ofSession path: String, _ bus: BusConnection) throws(BusConnection.Failure) -> SessionUser? {
        func property(_ name: String) throws(BusConnection.Failure) -> BusValue {
            try bus.property(name, of: Self.session, at: path, destination: Self.service)
        }
        do throws(BusConnection.Failure) {
            // `user` and `user-early`, for instance. Others are login screens, lock screens and services.
            guard let kind = try property("Class").textValue, kind.hasPrefix("user"),
                let name = try property("Name").textValue
            else { return nil }
            return SessionUser(name: name, fullName: AccountNames.fullName(of: name))
        } catch {
            // The session ended meanwhile. A signal says who is next.
            if case .refused = error { return nil }
            throw error
        }
    }

    func hold() {
        guard let bus, inhibitor < 0 else { return }
        bus.allow(milliseconds: Self.milliseconds)
        let call = BusConnection.Call(
            destination: Self.service, path: Self.managerPath, interface: Self.manager, member: "Inhibit",
            arguments: ["sleep:shutdown", "ws1agent", "Puts a last sample on disk", "delay"])
        do throws(BusConnection.Failure) {
            inhibitor = try bus.callForDescriptor(call)
            events.yield(.delaying(failure: nil))
        } catch {
            events.yield(.delaying(failure: "\(error)"))
        }
        hear()
    }

    func letGo() {
        guard inhibitor >= 0 else { return }
        Glibc.close(inhibitor)
        inhibitor = -1
    }
}

/// Names of people in the user database.
enum AccountNames {
    /// - Returns: `nil` if the database has none.
    static func fullName(of login: String) -> String? {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16_384)
        guard getpwnam_r(login, &entry, &buffer, buffer.count, &found) == 0, found != nil, let comment = entry.pw_gecos
        else { return nil }
        return fullName(comment: String(cString: comment))
    }

    /// The comment holds fields separated by commas, the name first (passwd(5)). There `&` stands for the login name,
    /// which few systems still use; it stays as it is.
    static func fullName(comment: String) -> String? {
        let name = comment.prefix { $0 != "," }
        return name.isEmpty ? nil : String(name)
    }
}
