import DataSampler
import Foundation

/// The numbers of the documented error list (ws1), and what they mean here. The names of the cases are documented; the
/// name of the type and the domain are ours.
///
/// Errors of delegate and completions are `NSError`s with ``errorDomain`` and one of these numbers as their code. Their
/// description says what failed and what to do. The cause, a `DataSamplerError`, is under `NSUnderlyingErrorKey`.
/// ``init(_:)`` reads the number. A number that says *does not occur* is there so that documented code compiles.
///
/// - 0: the library failed in a way that no other number describes.
/// - 1: ``AWController/stop(completion:)`` came before the initial check had ended.
/// - 2: does not occur.
/// - 3: the device's identity is damaged, or belongs to another machine.
/// - 4: the received profile is not valid.
/// - 5, 6: does not occur.
/// - 7: the configuration has no application identifier.
/// - 8: the key of the server that answers is none of those that are pinned.
/// - 9 to 14: does not occur; 13: no documented call unenrolls the device.
/// - 15: detectors found signs of compromise, and the profile blocks such a device; also reported later, with
///   ``AWControllerDelegate/controllerDidLockDataAccess()``.
/// - 16: the collector speaks another version.
/// - 17: does not occur.
/// - 18: the data directory cannot be read or written, or another process holds it; or its device key is not at hand.
/// - 19: does not occur.
/// - 20: what the call needs is not given: telemetry or analytics is off, consent is denied, the profile or the present
///   network does not allow it, or a wipe is under way.
/// - 21: does not occur.
/// - 22: the device is not enrolled, or was unenrolled.
/// - 23: does not occur.
/// - 24: after the initial check: the application is not among those that are assigned to this device.
/// - 25, 26: does not occur.
/// - 27: no configuration was set, a value of it or an argument is out of range, or ``AWController/start()`` is
///   missing.
/// - 28: another server, a proxy or a captive portal answers at the collector's address.
/// - 29: does not occur.
/// - 30: the collector rejects this device.
/// - 31: does not occur.
/// - 32: the collector cannot be reached, or has not answered in time.
/// - 33, 34: does not occur.
/// - 35: the configuration names another collector than the one where this device is enrolled.
/// - 36 to 38: does not occur.
/// - 39: the address of the collector is missing or cannot be read.
public enum AWSDKError: Int, CaseIterable, Error, CustomNSError, Sendable {
    case internalError = 0
    case stopSDKRequested
    case registeringApplicationBlocked
    case enrollmentInformationSetup
    case emptyProfiles
    case proxyFailedToStart
    case integratedAuthenticationCertificatesNotDownloaded
    case applicationIdentityNotSet
    case failedToFetchPinningCertificate
    case failedToFetchEnvironmentInformationFromAnchor
    case callBackSchemeNotConfigured
    case airWatchApplicationSchemeNotInAllowedLists
    /// Spelled as in the documentation.
    case anchorRequiredForThirdPartyApplictionBootstrap
    case failedToReportUnenrollmentStatus
    case userReachedMaximumAllowedUnlockAttempts
    /// The documentation has a misprint, "devicelsCompromised".
    case deviceIsCompromised
    case consoleVersionNotCompatible
    case invalidKeyWrappingConfiguration
    /// The documentation has a misprint, "protectedDatalsUnavailable".
    case protectedDataIsUnavailable
    case tunnelFailedToStart
    case missingExpectedRequirements
    case dataMigrationFailure
    case deviceNotEnrolled
    case failedToSetupAccessControl
    case applicationNotAssigned
    case credentialsFetchFailed
    case deviceAlreadyEnrolled
    case missingRequiredInformation
    case nonAirWatchConsole
    case enrollmentBlockedThroughExtension
    case enrollmentBlocked
    case sharedDeviceNotCheckedOut
    case serverIsNotReachableForRequiredSetup
    case policySigningCertFetchFailed
    case applicationNotManaged
    case enrollmentInfoNotMatched
    case failedToFetchCrossClusterInfoFromAnchor
    case crossClusterMisconfigurationFailure
    case userCancelledEnrollment
    case invalidServerDetails

    /// The domain of the errors.
    public static let errorDomain = "AWSDKError"

    /// The number.
    public var errorCode: Int { rawValue }

    /// The number of an error from this module; `nil` for another error.
    public init?(_ error: any Error) {
        let error = error as NSError
        guard error.domain == Self.errorDomain else { return nil }
        self.init(rawValue: error.code)
    }

    /// - Parameter message: what failed and what to do, without data of a person.
    func error(_ message: String, cause: (any Error)? = nil) -> NSError {
        var information: [String: Any] = [NSLocalizedDescriptionKey: message]
        if let cause { information[NSUnderlyingErrorKey] = cause }
        return NSError(domain: Self.errorDomain, code: rawValue, userInfo: information)
    }

    /// Returns what a completion reports of an error of the library.
    static func error(for cause: any Error) -> NSError {
        if let error = cause as? DataSamplerError { return number(of: error).error(error.message, cause: error) }
        let error = cause as NSError
        return error.domain == errorDomain ? error : internalError.error("\(cause)", cause: cause)
    }

    private static func number(of error: DataSamplerError) -> AWSDKError {
        switch error.code {
        case .identity: .enrollmentInformationSetup
        case .profileRefused: .emptyProfiles
        case .storage, .storageDamaged, .queue, .queueFull, .queueInUse, .queueInterrupted, .keyUnavailable,
            .notDecrypted:
            .protectedDataIsUnavailable
        case .invalidConfiguration, .invalidArgument, .invalidEvent, .invalidModule, .notRunning, .wrongPasscode:
            .missingRequiredInformation
        case .unenrolled: .deviceNotEnrolled
        case .collector: .serverIsNotReachableForRequiredSetup
        case .notDelivered: number(of: error.cause as? DeliveryFailure)
        case .analyticsDisabled, .profileNotChecked, .telemetryDisabled, .consentDenied, .wipePending, .moduleDisabled,
            .notAllowed, .networkNotAllowed:
            .missingExpectedRequirements
        default: .internalError
        }
    }

    private static func number(of failure: DeliveryFailure?) -> AWSDKError {
        switch failure {
        case .gateClosed?: .missingExpectedRequirements
        case .notEnrolled?: .deviceNotEnrolled
        case .refused?: .enrollmentBlocked
        case .offline?, .timedOut?, nil: .serverIsNotReachableForRequiredSetup
        }
    }
}
