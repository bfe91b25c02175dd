import Glibc
import Logging
import Synchronization

/// The knowledge of the machine's network services about the connection. A value is `nil` if its service is missing or
/// does not know.
package struct BusFacts: Equatable, Sendable {
    package var metered: Bool?
    package var roaming: Bool?

    package init(metered: Bool? = nil, roaming: Bool? = nil) {
        self.metered = metered
        self.roaming = roaming
    }
}

/// Asks the network services. This is the port between the conditions and the system's message bus.
package protocol BusFactsSource: Sendable {
    /// - Parameter cellular: whether the default route uses a modem. Only then is a service asked about roaming.
    /// - Returns: `nil` if no service answered in time.
    func facts(cellular: Bool) -> BusFacts?
}

/// Asks NetworkManager and ModemManager over the system bus.
///
/// Both answer from memory. Asking ends within the time-out whatever they do, and at once if there is no bus.
package struct SystemBusFacts: BusFactsSource {
    private let address: String
    private let timeoutMilliseconds: Int64
    private let trace: FailureTrace

    /// - Parameter address: of the bus; by default the system bus.
    package init(
        address: String = BusConnection.systemAddress, timeoutMilliseconds: Int64 = 100, logger: Logger
    ) {
        self.address = address
        self.timeoutMilliseconds = timeoutMilliseconds
        trace = FailureTrace(logger: logger)
    }

    package func facts(cellular: Bool) -> BusFacts? {
        var facts = BusFacts()
        do throws(BusConnection.Failure) {
            let bus = try BusConnection(address, milliseconds: timeoutMilliseconds)
            facts.metered = try Self.metered(bus)
            if cellular { facts.roaming = try Self.roaming(bus) }
        } catch {
            switch error {
            // A machine without a bus does not know. This is not a failure.
            case .absent: return BusFacts()
            case .timedOut, .refused, .hungUp, .malformed, .io:
                trace.record("\(error)")
                return nil
            }
        }
        trace.record(nil)
        return facts
    }

    /// NetworkManager reports yes, guessed yes, no and guessed no (NMMetered).
    private static func metered(_ bus: BusConnection) throws(BusConnection.Failure) -> Bool? {
        let service = "org.freedesktop.NetworkManager"
        let value: BusValue
        do {
            value = try bus.property(
                "Metered", of: service, at: "/org/freedesktop/NetworkManager", destination: service)
        } catch {
            // The service is missing or too old.
            if case .refused = error { return nil }
            throw error
        }
        return switch value.unsignedValue {
        case 1, 3: true
        case 2, 4: false
        default: nil
        }
    }

    /// Whether any modem is registered with a foreign network (MMModem3gppRegistrationState).
    private static func roaming(_ bus: BusConnection) throws(BusConnection.Failure) -> Bool? {
        let call = BusConnection.Call(
            destination: "org.freedesktop.ModemManager1", path: "/org/freedesktop/ModemManager1",
            interface: "org.freedesktop.DBus.ObjectManager", member: "GetManagedObjects")
        let values: [BusValue]
        do { values = try bus.call(call) } catch {
            if case .refused = error { return nil }
            throw error
        }
        guard case .dictionary(let modems)? = values.first else { return nil }
        let states = modems.values.compactMap {
            $0["org.freedesktop.ModemManager1.Modem.Modem3gpp"]?["RegistrationState"]?.unsignedValue
        }
        // Roaming comes in three forms: full, messages only, or without preferred circuit-switched fallback. So does
        // home.
        if states.contains(where: { [5, 7, 10].contains($0) }) { return true }
        return states.contains { [1, 6, 9].contains($0) } ? false : nil
    }
}

/// Logs a failure once, until another failure or a success follows.
private final class FailureTrace: Sendable {
    private let logger: Logger
    private let last = Mutex<String?>(nil)

    init(logger: Logger) { self.logger = logger }

    func record(_ failure: String?) {
        let isNew = last.withLock { last in
            defer { last = failure }
            return failure != nil && failure != last
        }
        if isNew, let failure {
            logger.warning(
                "the system bus did not tell whether the network is metered", metadata: ["failure": "\(failure)"])
        }
    }
}
