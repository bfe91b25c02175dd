import DataSampler
import Foundation
import Synchronization

/// The documented entry to the SDK (ws1). It runs the one ``DataSampler`` of this process.
///
/// ```swift
/// let controller = AWController.clientInstance()
/// controller.configuration = DataSamplerConfiguration(
///     directory: "/var/lib/kiosk/telemetry", collectorURL: "https://collector.example:8420", enrollmentToken: token)
/// controller.configuration?.applicationIdentifier = "com.example.kiosk"
/// controller.start()
/// ```
///
/// All names of this module may be used from any thread. Delegate methods and completions are called one after the
/// other on one serial queue of the module's own, never on the main queue. A slow one delays the
/// next, so none may wait for another. Calls take
/// effect in the order in which they were made.
///
/// The documentation names more calls than it gives signatures of. Where a comment says *ours*, the documentation does
/// not have the name, or has it without this signature.
public final class AWController: Sendable {
    let engine: SDKEngine
    private let callbacks = Mutex<(scheme: String, team: String)>(("", ""))
    private static let shared = AWController(engine: .shared)

    init(engine: SDKEngine) { self.engine = engine }

    /// The controller of this process (ws1).
    public static func clientInstance() -> AWController { shared }

    /// Receives what happens (ws1). Held weakly.
    public var delegate: (any AWControllerDelegate)? {
        get { engine.delegate }
        set { engine.delegate = newValue }
    }

    /// Directory, collector, enrollment and the application's identifier. Ours: a program on Linux has no bundle that
    /// could hold them. Set it before ``start()``, which reads it. Requires a directory, a collector and an application
    /// identifier; an enrollment token or file until the device is enrolled.
    public var configuration: DataSamplerConfiguration? {
        get { engine.configuration }
        set { engine.configuration = newValue }
    }

    /// The URL scheme by which other applications call this one back (ws1). It has no meaning here: nothing signs in
    /// through another application. It is kept, and nothing else is done with it.
    public var callbackScheme: String {
        get { callbacks.withLock { $0.scheme } }
        set { callbacks.withLock { $0.scheme = newValue } }
    }

    /// The developer's team, which shares a keychain on iOS (ws1). It has no meaning here: nothing is shared between
    /// programs. It is kept, and nothing else is done with it.
    public var teamID: String {
        get { callbacks.withLock { $0.team } }
        set { callbacks.withLock { $0.team = newValue } }
    }

    /// Whether the SDK handles a URL that opened the application (ws1). Always `false` here: no other application calls
    /// back, so every URL is the application's own.
    public func handleOpenURL(_ url: URL, fromApplication: String?) -> Bool { false }

    /// Starts the data sampler and asks the collector for the profile (ws1). Returns at once.
    ///
    /// ``AWControllerDelegate/controllerDidFinishInitialCheck(error:)`` reports the result. If there is no profile
    /// after 30 seconds, it has an error. Unless the data sampler could not start, it runs on: the method is called
    /// once more, without an error, when the profile arrives. A second start does nothing while the first one lasts.
    public func start() { engine.start() }

    /// Stops the data sampler; ours. What waits to be sent stays on disk for the next start.
    ///
    /// - Parameter completion: called when it has stopped. `nil` for none.
    public func stop(completion: SDKCompletion? = nil) { engine.stop(completion) }

    /// The profile of this device; `nil` before there is one (ws1).
    public func sdkProfile() -> Profile? { engine.profile }

    /// The known facts about the enrollment (ws1).
    public var enrollmentInfo: EnrollmentInfo {
        let information = engine.information
        return EnrollmentInfo(
            organizationGroup: information?.organization.value,
            hostName: information?.collector.value.flatMap { URL(string: $0)?.host })
    }

    /// Asks the collector now for the commands that wait for this device (ws1). They are carried out in the background.
    ///
    /// - Parameter completion: ours; called once the collector has answered. `nil` for none.
    public func loadCommands(completion: SDKCompletion? = nil) {
        engine.call("loadCommands", { try await $0.loadCommands() }, then: completion)
    }

    /// Uploads the lines that the log store keeps (ws1). Nothing is deleted on the device.
    ///
    /// - Parameter completion: success once the collector has all chunks. An error within 60 seconds otherwise; unless
    ///   the collector refused them, the upload goes on by itself.
    public func sendLogDataWithCompletion(
        completion: @escaping @Sendable (_ success: Bool, _ error: NSError?) -> Void
    ) {
        engine.call("sendLogData", { [limit = engine.deliveryLimit] in try await $0.sendLogs(deliveredWithin: limit) })
        {
            switch $0 {
            case .success: completion(true, nil)
            case .failure(let error): completion(false, error)
            }
        }
    }
}

/// Success, or why not. Ours, for calls whose documentation shows no completion.
public typealias SDKCompletion = @Sendable (_ success: Bool, _ error: (any Error)?) -> Void

/// The enrollment of this device (ws1).
public struct EnrollmentInfo: Equatable, Sendable {
    /// The organization's name; `nil` if it is not known yet.
    public let organizationGroup: String?
    /// The collector's host; `nil` if none is configured.
    public let hostName: String?
}

/// The profile of this device (ws1).
public struct Profile: Equatable, Sendable {
    /// Text for the application, as the administrator entered it; `nil` for none (ws1).
    public let customPayload: AWCustomPayload?
    /// The number of the profile's last change; ours.
    public let revision: UInt64

    init(_ profile: DataSamplerProfile) {
        customPayload = profile.customPayload.map { AWCustomPayload(settings: $0) }
        revision = profile.revision
    }
}

/// Text that an administrator gave the application (ws1). The application parses it.
public struct AWCustomPayload: Equatable, Sendable {
    /// The text, unchanged. The name is ours.
    public let settings: String
}

extension DeviceInformation.Field {
    /// `nil` if it is unknown or not applicable.
    var value: Value? { if case .known(let value) = self { value } else { nil } }
}
