import DataSampler
import Foundation

/// Calls that answer at once, from the caller's thread.
extension SDKEngine {
    /// - Parameter failure: for what is not a locked container.
    func encrypted(
        _ method: (DataSampler) -> (Data) throws(DataSamplerError) -> Data, _ data: Data,
        _ failure: (String) -> AWSDKCryptError
    ) throws(AWSDKCryptError) -> Data {
        guard let sampler = unlocked else { throw .ContainerLocked }
        do throws(DataSamplerError) { return try method(sampler)(data) } catch {
            switch error.code {
            case .keyUnavailable, .notRunning, .wipePending: throw .ContainerLocked
            default: throw failure(error.message)
            }
        }
    }

    var keyObstacle: String? {
        guard let sampler = unlocked else {
            return "the initial check has not passed yet: start the SDK and wait for it"
        }
        do throws(DataSamplerError) { return try sampler.keyStatus().obstacle } catch { return error.message }
    }
}
