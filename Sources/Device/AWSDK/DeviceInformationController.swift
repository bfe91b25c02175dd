import DataSampler
import Foundation

/// The known facts about this device (ws1). The documentation lists twelve fields and gives one name, ``ssoStatus``;
/// the other names and all types are ours.
///
/// Fields hold what was known at the last notice, profile or ``requery(completion:)``, and ask nobody. `nil` means that
/// nothing has reported it, or that it has no meaning here.
public final class DeviceInformationController: Sendable {
    private let engine: SDKEngine

    /// The controller of this process (ws1).
    public static let sharedController = DeviceInformationController(engine: .shared)

    init(engine: SDKEngine) { self.engine = engine }

    /// This controller, so that `sharedController()` of 18.5 compiles, too.
    public func callAsFunction() -> DeviceInformationController { self }

    /// Enrollment status.
    public var enrollmentStatus: EnrollmentStatus { EnrollmentStatus(engine.information?.enrollment) }
    /// Compliance status: whether device and application follow the profile's rules.
    public var isCompliant: Bool? { engine.information?.isCompliant.value }
    /// Managed status.
    public var isManaged: Bool? { engine.information?.isManaged.value }
    /// Management type: `managed` or `unmanaged`.
    public var managementType: String? { engine.information?.managementType.value }
    /// Organizational group name.
    public var organizationGroupName: String? { engine.information?.organization.value }
    /// Organizational group ID.
    public var organizationGroupID: String? { engine.information?.organizationID.value }
    /// Device services URL: the collector's address.
    public var deviceServicesURL: String? { engine.information?.collector.value }
    /// Single sign on status: `nil`, because the library signs nobody on.
    public var ssoStatus: Bool? { engine.information?.singleSignOn.value }
    /// Compromised status; ``refreshDeviceCompromisedStatus(completion:)`` looks now.
    public var isCompromised: Bool? { engine.information?.isCompromised.value }
    /// Console version: the collector's.
    public var consoleVersion: String? { engine.information?.collectorVersion.value }
    /// Shared device status: `nil`, because devices are not checked out to persons.
    public var isSharedDevice: Bool? { engine.information?.isSharedDevice.value }
    /// Is App Supported: whether the collector speaks the version of this library.
    public var isAppSupported: Bool? { engine.information?.isSupported.value }

    /// Looks for signs of compromise now, also without a network (ws1). The types are ours.
    ///
    /// - Parameter completion: whether the device is compromised, `false` also if that is not known; an evaluation
    ///   token, always `nil` here, because no service evaluates; the device's id, `nil` before it is enrolled.
    public func refreshDeviceCompromisedStatus(
        completion:
            @escaping @Sendable (_ isJailbroken: Bool, _ evaluationToken: String?, _ identifier: String?) -> Void
    ) {
        engine.call("refreshDeviceCompromisedStatus", { [engine] in try await engine.isCompromised($0) }) {
            [engine] (result: Result<Bool, NSError>) in
            completion((try? result.get()) ?? false, nil, engine.device)
        }
    }

    /// Refreshes as ``refreshDeviceCompromisedStatus(completion:)`` does, and waits for the answer (ws1, 18.5). `false`
    /// also if it is not known, or the SDK does not run. It blocks its thread, so tasks may not call it.
    @available(*, noasync, message: "it blocks its thread: use refreshDeviceCompromisedStatus(completion:)")
    public func isCurrentDeviceCompromised() -> Bool {
        engine.wait("isCurrentDeviceCompromised") { [engine] in try await engine.isCompromised($0) } ?? false
    }

    /// Asks the collector for profile and commands, and sends a beacon (ws1: Requery). The signature is ours.
    ///
    /// - Parameter completion: called when the fields are up to date. `nil`: a failure is logged only.
    public func requery(completion: SDKCompletion? = nil) {
        engine.call(
            "requery",
            { [engine] in
                try await $0.requery()
                await engine.refresh($0)
            }, then: completion)
    }

    /// Asks the collector whether the configured application is assigned to this device (ws1). The types are ours. The
    /// library only reports it; what follows is the application's to decide.
    ///
    /// - Parameter completion: the status; `unknown` if the collector could not be asked. Then this controller.
    public func fetchApplicationAssignmentStatus(
        completion:
            @escaping @Sendable (
                _ appStatus: ApplicationAssignmentStatus, _ deviceInformation: DeviceInformationController
            ) -> Void
    ) {
        let application = engine.configuration?.applicationIdentifier ?? ""
        engine.call(
            "fetchApplicationAssignmentStatus",
            { try await $0.fetchApplicationAssignmentStatus().status(of: application) }
        ) { [self] (result: Result<ApplicationAssignment.Status, NSError>) in
            switch try? result.get() {
            case .assigned?: completion(.assigned, self)
            case .notAssigned?: completion(.notAssigned, self)
            case .notApplicable?: completion(.notApplicable, self)
            case nil: completion(.unknown, self)
            }
        }
    }
}

/// Whether the application is assigned to this device. The type and its cases are ours.
public enum ApplicationAssignmentStatus: Equatable, Sendable {
    /// It is.
    case assigned
    /// It is not.
    case notAssigned
    /// The organization keeps no list.
    case notApplicable
    /// The collector could not be asked.
    case unknown
}

extension SDKEngine {
    fileprivate func isCompromised(_ sampler: DataSampler) async throws -> Bool {
        let verdict = try await sampler.refreshDeviceCompromisedStatus().verdict
        await refresh(sampler)
        return verdict == .yes
    }
}
