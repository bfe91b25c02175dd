import CollectorAPI
import CollectorClient
import CommandKit
import Dispatch
import Glibc
import TelemetryBasics
import WireModel

/// Follows a request until it has ended, the limit is over, or somebody interrupts.
struct RequestWait {
    let id: String
    let device: DeviceID
    let client: CollectorClient
    /// `nil`: as long as it takes.
    let limitSeconds: Int64?
    let isQuiet: Bool
    /// When the device was expected to fetch the request, as known at the beginning.
    let expected: DeviceExpectation?

    /// The remedy for a person after the wait has ended early.
    private var remedy: String {
        "request \(id) goes on; wait for it with: ws1log request --id \(id) --wait, end it with --cancel \(id)"
    }

    /// - Returns: the request, when it is done.
    /// - Throws: `.failed` if it ended in another way, `.tryAgain` if the limit is over.
    func run(from command: CommandView) async throws -> CommandView {
        let interruption = Self.onInterruption(remedy)
        defer { interruption.cancel() }
        var progress = ProgressLine(isShown: !isQuiet)
        defer { progress.clear() }
        let begun = SystemClock.monotonicNanoseconds()
        var command = command
        var questions = 0
        while true {
            let standing = RequestStanding(command)
            switch standing.meaning {
            case .done: return command
            case .failed(let reason): throw CommandError(.failed, "request \(id) \(reason)")
            case .pending:
                let waits =
                    command.state == "queued"
                    ? expected.map { ": \($0.text(now: SystemClock.wallMicroseconds()))" } ?? "" : ""
                progress.show(standing.progress, standing.text + waits)
            }
            let waited = (SystemClock.monotonicNanoseconds() - begun) / 1_000_000_000
            let pause = RequestStanding.pauseSeconds(after: questions)
            guard limitSeconds.map({ waited + pause <= $0 }) ?? true else {
                throw CommandError(.tryAgain, "not ended after \(waited) s (\(standing.text)): \(remedy)")
            }
            try await Task.sleep(for: .seconds(pause))
            questions += 1
            do throws(CollectorClientError) {
                command = try await client.get("/api/v1/devices/\(device)/commands/\(id)")
            } catch {
                // The collector restarts or the network is away. The request goes on meanwhile.
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
            exit(CommandError(.tryAgain, remedy).exitCode)
        }
        source.resume()
        return source
    }
}

/// When a device will contact its collector at the latest, if it is on and has a network.
///
/// A device with data to send contacts the collector at each transmit. An idle device asks for commands at its beacon
/// interval, and at least every 15 min.
struct DeviceExpectation: Equatable {
    /// The pause of an idle device without beacons, or with a longer beacon interval.
    static let greatestPauseSeconds: Int64 = 900

    /// Microseconds since 1970, by the collector's clock; `nil` if the device never came.
    let lastSeen: Int64?
    let pauseSeconds: Int64

    init(lastSeen: Int64?, beaconSeconds: Int64?) {
        self.lastSeen = lastSeen
        pauseSeconds = min(beaconSeconds.map { max($0, 60) } ?? Self.greatestPauseSeconds, Self.greatestPauseSeconds)
    }

    /// `nil` if the device has fetched the command already, or the collector cannot be asked about the device.
    static func of(_ command: CommandView, _ id: DeviceID, _ client: CollectorClient) async -> DeviceExpectation? {
        struct Device: Decodable {
            var lastSeenAt: String?
            var expectedBeaconSeconds: Int64?
        }
        guard command.state == "queued", let device: Device = try? await client.get("/api/v1/devices/\(id)") else {
            return nil
        }
        let seen = device.lastSeenAt.flatMap { TimeArgument(argument: $0) }.map { $0.microseconds(now: 0) }
        return DeviceExpectation(lastSeen: seen, beaconSeconds: device.expectedBeaconSeconds)
    }

    /// A line for a person.
    func text(now: Int64) -> String {
        guard let lastSeen else {
            return "the device has not been seen since it enrolled; it takes the request when it comes"
        }
        let expected = lastSeen + pauseSeconds * 1_000_000
        let seen = "the device was last seen \(DurationText.of(seconds: Double(now - lastSeen) / 1_000_000)) ago"
        let time = LineStyle.localTime(expected, digits: 0)
        guard expected > now else {
            return
                """
                \(seen) and was expected by \(time): it may be off or without a network, and takes the request when it \
                comes
                """
        }
        return
            """
            \(seen) and is expected by \(time), in \(DurationText.of(seconds: Double(expected - now) / 1_000_000)) at \
            most
            """
    }
}
