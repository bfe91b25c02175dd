import CollectorAPI
import CollectorClient
import Dispatch
import FoundationEssentials
import Glibc
import TelemetryBasics
import WireModel

/// Follows a request until it has ended, the limit is over, or somebody interrupts.
struct RequestWait {
    private let id: String
    private let device: DeviceID
    private let client: CollectorClient
    private let limitSeconds: Int64?
    private let isQuiet: Bool
    /// When the device is expected to take it, as it was known at the beginning.
    private let expected: DeviceExpectation?

    init(
        _ id: String, of device: DeviceID, _ client: CollectorClient, limitSeconds: Int64?, isQuiet: Bool,
        expected: DeviceExpectation?
    ) {
        self.expected = expected
        self.id = id
        self.device = device
        self.client = client
        self.limitSeconds = limitSeconds
        self.isQuiet = isQuiet
    }

    /// What to say to who waits no longer.
    private var remedy: String {
        "request \(id) goes on; wait for it with: ws1log request --id \(id) --wait, end it with --cancel \(id)"
    }

    /// - Returns: the request as it was done.
    /// - Throws: `.failed` where it ended otherwise, `.tryAgain` where the limit is over.
    func run(from command: CommandView) async throws -> CommandView {
        let interruption = Self.onInterruption(remedy)
        defer { interruption.cancel() }
        var progress = ProgressLine(isShown: !isQuiet)
        defer { progress.clear() }
        let begun = SystemClock.monotonicNanoseconds()
        var command = command
        var looks = 0
        while true {
            let standing = RequestStanding(command)
            switch standing.meaning {
            case .done: return command
            case .failed(let reason): throw LogCommandError(.failed, "request \(id) \(reason)")
            case .pending:
                let waits =
                    command.state == "queued"
                    ? expected.map { ": \($0.text(now: SystemClock.wallMicroseconds()))" } ?? "" : ""
                progress.show(standing.progress, standing.text + waits)
            }
            let waited = (SystemClock.monotonicNanoseconds() - begun) / 1_000_000_000
            let pause = RequestStanding.pauseSeconds(after: looks)
            guard limitSeconds.map({ waited + pause <= $0 }) ?? true else {
                throw LogCommandError(.tryAgain, "not ended after \(waited) s (\(standing.text)): \(remedy)")
            }
            try await Task.sleep(for: .seconds(pause))
            looks += 1
            do throws(CollectorClientError) {
                command = try await client.get("/api/v1/devices/\(device)/commands/\(id)")
            } catch {
                // A collector that restarts, a network that is away: the request does not mind.
                guard error.code == .tryAgain else { throw error }
                progress.show(standing.progress, error.message)
            }
        }
    }

    private static func onInterruption(_ remedy: String) -> any DispatchSourceSignal {
        signal(SIGINT, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
        source.setEventHandler {
            StandardError.write("\n")
            StandardError.warn(remedy)
            exit(LogCommandError(.tryAgain, remedy).exitCode)
        }
        source.resume()
        return source
    }
}

/// When a device is next expected at its collector. A device that has something to send comes when it transmits; an
/// idle one asks for commands at its beacon interval, and at least every 15 min. So this is the latest time, for a
/// device that is on, has a network, and transmits as often as that.
struct DeviceExpectation: Equatable {
    /// An idle device without a schedule of beacons, or with a longer one, asks so often.
    static let greatestPauseSeconds: Int64 = 900

    /// Microseconds since 1970, by the collector's clock; `nil`: it never came.
    let lastSeen: Int64?
    let pauseSeconds: Int64

    init(lastSeen: Int64?, beaconSeconds: Int64?) {
        self.lastSeen = lastSeen
        pauseSeconds = min(beaconSeconds.map { max($0, 60) } ?? Self.greatestPauseSeconds, Self.greatestPauseSeconds)
    }

    /// Of the device that has not taken a command yet; `nil` where it has, or the collector does not say: then nothing
    /// is expected.
    static func of(_ command: CommandView, _ id: DeviceID, _ client: CollectorClient) async -> DeviceExpectation? {
        struct Device: Decodable {
            var lastSeenAt: String?
            var expectedBeaconSeconds: Int64?
        }
        guard command.state == "queued", let device: Device = try? await client.get("/api/v1/devices/\(id)") else {
            return nil
        }
        let seen = device.lastSeenAt.flatMap { TimeArgument($0) }.map { $0.microseconds(now: 0) }
        return DeviceExpectation(lastSeen: seen, beaconSeconds: device.expectedBeaconSeconds)
    }

    /// A line for a person.
    func text(now: Int64) -> String {
        guard let lastSeen else {
            return "the device has not been seen since it enrolled; it takes the request when it comes"
        }
        let expected = lastSeen + pauseSeconds * 1_000_000
        let seen = "the device was last seen \(Self.span(now - lastSeen)) ago"
        let time = LineStyle.localTime(expected, now: now).split(separator: ".")[0]
        guard expected > now else {
            return
                "\(seen) and was expected by \(time): it may be off or without a network, and takes the request when it comes"
        }
        return "\(seen) and is expected by \(time), in \(Self.span(expected - now)) at most"
    }

    private static func span(_ microseconds: Int64) -> String {
        let seconds = max(0, microseconds) / 1_000_000
        switch seconds {
        case ..<120: return "\(seconds) s"
        case ..<7200: return "\(seconds / 60) min"
        case ..<172_800: return "\(seconds / 3600) h"
        default: return "\(seconds / 86_400) d"
        }
    }
}
