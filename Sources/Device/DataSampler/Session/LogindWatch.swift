import Logging
import RecordQueue
import SampleModules
import Synchronization
import Transmitter
import WireModel

/// Follows logind while the data sampler runs, and connects again whenever the connection ends.
///
/// | logind reports | what follows |
/// |---|---|
/// | an unlock | a beacon, by `DevicePolicy` |
/// | a lock | a line in the log |
/// | sleep or shutdown is about to begin | a sample of all modules; what waits in memory is committed; then logind may
/// go on |
/// | the machine woke up, or the shutdown was called off | logind is asked again to wait for us; what is due is sampled
/// |
/// | another session is active at seat0 | beacons contain its user, one within a second |
///
/// logind waits no longer than its own limit, by default five seconds. A sample that takes longer is committed after
/// the machine woke up, like any other.
final class LogindWatch: Sendable {
    /// How long custom modules may take for the last sample.
    private static let customLimit = Duration.seconds(2)

    private let address: String
    private let core: SamplerCore
    private let loop: DeviceLoop
    private let events: DeviceEvents
    private let state = Mutex(DataSamplerStatus.Logind(connected: false, reason: "not connected yet"))
    /// The last person who had the session.
    private let lastUser = Mutex<DeviceUser?>(nil)

    /// - Parameter address: of the message bus.
    init(address: String, core: SamplerCore, loop: DeviceLoop, events: DeviceEvents) {
        self.address = address
        self.core = core
        self.loop = loop
        self.events = events
    }

    var report: DataSamplerStatus.Logind { state.withLock { $0 } }

    /// 1 s after the first attempt, then doubled up to about 5 minutes.
    static func pause(after attempts: Int) -> Duration { .seconds(min(300, 1 << min(attempts, 9))) }

    /// Runs until its task is cancelled.
    func run(sleeper: any Clock<Duration>) async {
        var attempts = 0
        while !Task.isCancelled {
            let connection = LogindConnection(address: address)
            for await event in connection.events {
                if event == .connected { attempts = 0 }
                await handle(event, connection)
            }
            try? await sleeper.sleep(for: Self.pause(after: attempts))
            attempts += 1
        }
    }

    private func handle(_ event: LogindEvent, _ connection: LogindConnection) async {
        switch event {
        case .connected:
            state.withLock { $0 = .init(connected: true) }
            connection.hold()
        case .delaying(let failure): state.withLock { $0.reason = failure }
        case .user(let user): setUser(user)
        case .locked: core.logger.info("the session was locked")
        case .unlocked: events.post(.unlocked)
        case .pausing:
            await loop.sampleNow(customLimit: Self.customLimit)
            do { try await core.queue.flush() } catch {
                core.logger.warning(
                    "records could not be put on disk before sleep or shutdown", metadata: ["reason": "\(error)"])
            }
            connection.letGo()
        case .resumed:
            connection.hold()
            loop.wake.signal()
        case .ended(let why):
            let isNews = state.withLock { state in
                defer { state = .init(connected: false, reason: why) }
                return state.reason != why
            }
            if isNews { core.logger.info("logind is not available", metadata: ["reason": "\(why)"]) }
            setUser(nil)
        }
    }

    private func setUser(_ user: SessionUser?) {
        let user = user.map { DeviceUser(fullName: $0.fullName, displayName: $0.name) }
        guard core.beacons.setSessionUser(user) else { return }
        let isAnotherPerson = lastUser.withLock { last in
            guard let user else { return false }
            defer { last = user }
            return last != nil && last != user
        }
        events.post(.sessionUserChanged(isAnotherPerson: isAnotherPerson))
    }
}
