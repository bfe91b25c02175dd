import RecordQueue
import WireModel

/// An action that the library records by itself when the program or a command asked for it (intune).
enum SDKAction: String {
    /// The collector has the logs of an upload, or never gets them.
    case logsSent = "logs.send"
    case profileReloaded = "profile.reload"
    case beaconForced = "beacon.force"
    case wiped = "wipe"
}

extension SamplerCore {
    /// Does what was asked for, and records a usage event with its outcome and duration.
    ///
    /// - Parameter didSucceed: whether a result is a success. An error never is.
    func asked<Value, Failure: Error>(
        _ action: SDKAction, didSucceed: (Value) -> Bool = { _ in true }, _ act: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let start = clock.now().timeSinceBoot
        func record(_ succeeded: Bool) async {
            let microseconds = Int64(clamping: clock.now().timeSinceBoot &- start)
            await recordUsage(
                .sdkAction(
                    action.rawValue, succeeded ? .succeeded : .failed, duration: .microseconds(max(0, microseconds))))
        }
        do throws(Failure) {
            let value = try await act()
            await record(didSucceed(value))
            return value
        } catch {
            await record(false)
            throw error
        }
    }
}
