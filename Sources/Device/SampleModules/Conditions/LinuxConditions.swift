import Logging
import Synchronization
import WireModel

/// The conditions of a Linux machine: default route, Wi-Fi network, power supplies, pressure, and the facts of
/// NetworkManager and ModemManager.
///
/// Answers of files are reused for ``fileSeconds``, answers of network services for ``busSeconds``. A service that does
/// not answer within a tenth of a second is not asked again for ``silenceSeconds``; until then its facts are unknown.
/// Safe from any thread.
///
/// Tested on captured machines, and against a real message bus with services that act as NetworkManager and
/// ModemManager. Not tested on a machine with a modem.
package final class LinuxConditions: ConditionsSource {
    /// How long answers of files are reused.
    static let fileSeconds: UInt64 = 2
    /// How long answers of services are reused.
    static let busSeconds: UInt64 = 10
    /// How long a service that did not answer is not asked again.
    static let silenceSeconds: UInt64 = 60

    private struct State {
        var reader: FileReader
        var stall = StallDetector()
        var links = WLANLinks()
        var conditions = DeviceConditions()
        var filesRead: UInt64?
        var busAsked: UInt64?
        var isBusSilent = false
        /// Whether the last question to the services was about a modem.
        var wasCellular = false
    }

    private let host: any HostSource
    private let bus: any BusFactsSource
    private let route: @Sendable (any HostSource) -> Route?
    private let state: Mutex<State>

    /// The interface of the default route.
    struct Route: Sendable {
        var interface: String
        var network: WireNetworkClass
    }

    /// - Parameter bus: the network services; `nil` asks those on the system bus.
    package convenience init(host: any HostSource, bus: (any BusFactsSource)? = nil, logger: Logger) {
        self.init(host: host, bus: bus ?? SystemBusFacts(logger: logger), logger: logger) { host in
            DefaultRoute.interface(host: host).map {
                Route(interface: $0, network: InterfaceClass.classify($0, host: host))
            }
        }
    }

    /// - Parameter route: `nil` if the machine is offline.
    init(
        host: any HostSource, bus: any BusFactsSource, logger: Logger,
        route: @escaping @Sendable (any HostSource) -> Route?
    ) {
        self.host = host
        self.bus = bus
        self.route = route
        state = Mutex(State(reader: FileReader(host: host, logger: logger)))
    }

    package func current() -> DeviceConditions {
        let now = host.now().sinceBootMicroseconds
        return state.withLock { state in
            if Self.isDue(state.filesRead, every: Self.fileSeconds, now: now) {
                state.filesRead = now
                readFiles(&state)
            }
            let isCellular = state.conditions.network == .cellular
            let patience = state.isBusSilent ? Self.silenceSeconds : Self.busSeconds
            if Self.isDue(state.busAsked, every: patience, now: now)
                || (isCellular && !state.wasCellular && !state.isBusSilent)
            {
                state.busAsked = now
                state.wasCellular = isCellular
                askBus(&state, isCellular: isCellular)
            }
            return state.conditions
        }
    }

    /// A clock that went back means that the machine was booted again.
    private static func isDue(_ last: UInt64?, every seconds: UInt64, now: UInt64) -> Bool {
        guard let last, now >= last else { return true }
        return now - last >= seconds * 1_000_000
    }

    private func readFiles(_ state: inout State) {
        let route = route(host)
        state.conditions.network = route?.network ?? .offline
        state.conditions.ssid =
            route.flatMap { $0.network == .wifi ? state.links.ssid(of: $0.interface, &state.reader) : nil }
        let power = PowerSupplyReader.read(&state.reader)
        state.conditions.batteryLevel = power.flatMap { $0.hasBatteryLevel ? $0.batteryLevel : nil }
        state.conditions.externalPower = Self.externalPower(power)
        state.conditions.stalled = state.stall.stalled(
            memory: state.reader.pressure(of: "memory"), disk: state.reader.pressure(of: "io"))
    }

    /// A machine without a battery has external power. A battery without a known line supply shows it by whether it
    /// charges.
    static func externalPower(_ power: WirePower?) -> Bool? {
        guard let power, power.hasBatteryLevel || power.state != .unknown else { return true }
        if power.hasExternalPower { return power.externalPower }
        return switch power.state {
        case .discharging: false
        case .charging, .full, .notCharging: true
        case .unknown, .UNRECOGNIZED: nil
        }
    }

    private func askBus(_ state: inout State, isCellular: Bool) {
        let facts = bus.facts(cellular: isCellular)
        state.isBusSilent = facts == nil
        state.conditions.metered = facts?.metered
        state.conditions.roaming = facts?.roaming
    }
}

/// Decides from the pressure figures whether the machine stalls (kernel, Documentation/accounting/psi.rst). Pure.
///
/// A stall begins above a threshold and ends below half of it, so it does not flicker. The averages are those of the
/// last ten seconds, in hundredths of a per cent. Waiting for a processor is no stall: a machine that computes all day
/// is healthy, and sending costs it little.
struct StallDetector: Equatable, Sendable {
    /// The limit for memory: all tasks waited for 10 % of the time because memory had to be reclaimed.
    static let memoryFull: UInt32 = 10_00
    /// The limit for the disk: all tasks waited for it for 50 % of the time.
    static let diskFull: UInt32 = 50_00

    private var isStalled = false

    /// - Returns: `nil` if the kernel has no pressure figures.
    mutating func stalled(memory: PressureFile?, disk: PressureFile?) -> Bool? {
        let shares = [
            (memory?.full?.average10, Self.memoryFull), (disk?.full?.average10, Self.diskFull),
        ].compactMap { share, limit in share.map { ($0, limit) } }
        guard !shares.isEmpty else {
            isStalled = false
            return nil
        }
        isStalled = shares.contains { share, limit in share >= (isStalled ? limit / 2 : limit) }
        return isStalled
    }
}
