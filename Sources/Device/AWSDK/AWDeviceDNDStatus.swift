import DataSampler
import Foundation

/// The device's do-not-disturb, which the collector holds (ws1, 18.5). The names are documented; the signatures are
/// ours.
public final class AWDeviceDNDStatus: Sendable {
    private let engine: SDKEngine

    /// The status of this device.
    public convenience init() { self.init(engine: .shared) }

    init(engine: SDKEngine) { self.engine = engine }

    /// Asks the collector for the newest decision, and follows it.
    ///
    /// - Parameter completion: whether do-not-disturb is on; or `nil` and why that is not known.
    public func fetchDeviceDNDStatus(completion: @escaping @Sendable (_ isOn: Bool?, _ error: (any Error)?) -> Void) {
        engine.call("fetchDeviceDNDStatus", { try await $0.fetchDeviceDNDStatus().isOn }) {
            (result: Result<Bool, NSError>) in
            switch result {
            case .success(let isOn): completion(isOn, nil)
            case .failure(let error): completion(nil, error)
            }
        }
    }

    /// Switches do-not-disturb on or off, and informs the collector. Number 20 if the profile does not allow it.
    ///
    /// - Parameters:
    ///   - isOn: whether to switch it on.
    ///   - completion: success once the collector has the decision. Without a network it holds here, and the collector
    ///     is informed later. `nil`: a failure is logged only.
    public func setDeviceDNDStatus(_ isOn: Bool, completion: SDKCompletion? = nil) {
        engine.call("setDeviceDNDStatus", { _ = try await $0.setDeviceDNDStatus(isOn) }, then: completion)
    }
}
