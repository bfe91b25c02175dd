@testable import DataSampler
import Foundation
import Testing

@testable import AWSDK

@Suite struct AWSDKErrorTests {
    @Test func `The list has the documented numbers`() {
        #expect(AWSDKError.allCases.map(\.rawValue) == Array(0...39))
        let documented: [Int: AWSDKError] = [
            0: .internalError, 4: .emptyProfiles, 8: .failedToFetchPinningCertificate,
            13: .failedToReportUnenrollmentStatus, 16: .consoleVersionNotCompatible, 20: .missingExpectedRequirements,
            24: .applicationNotAssigned, 28: .nonAirWatchConsole, 32: .serverIsNotReachableForRequiredSetup,
            35: .enrollmentInfoNotMatched, 39: .invalidServerDetails,
        ]
        for (number, error) in documented { #expect(error.rawValue == number) }
    }

    @Test func `An error is an NSError with domain, number, text and cause`() {
        let cause = DataSamplerError(.collector, "the commands could not be fetched: offline")
        let error = AWSDKError.error(for: cause)
        #expect(error.domain == "AWSDKError" && error.code == 32)
        #expect(error.localizedDescription == cause.message)
        #expect((error.userInfo[NSUnderlyingErrorKey] as? DataSamplerError)?.code == .collector)
        #expect(AWSDKError(error) == .serverIsNotReachableForRequiredSetup)
        #expect(AWSDKError(AWSDKError.deviceNotEnrolled) == .deviceNotEnrolled)
        #expect(AWSDKError(NSError(domain: "another", code: 32)) == nil)
        #expect(AWSDKError(CancellationError()) == nil)
        // What has a number keeps it.
        #expect(AWSDKError.error(for: AWSDKError.emptyProfiles.error("odd")).code == 4)
        #expect(AWSDKError.error(for: CancellationError()).code == 0)
    }

    private static let numbers: [(code: DataSamplerError.Code, number: AWSDKError)] = [
        (.identity, .enrollmentInformationSetup), (.profileRefused, .emptyProfiles),
        (.queueInUse, .protectedDataIsUnavailable), (.storage, .protectedDataIsUnavailable),
        (.notRunning, .missingRequiredInformation), (.invalidConfiguration, .missingRequiredInformation),
        (.unenrolled, .deviceNotEnrolled), (.collector, .serverIsNotReachableForRequiredSetup),
        (.analyticsDisabled, .missingExpectedRequirements), (.networkNotAllowed, .missingExpectedRequirements),
        (.wipePending, .missingExpectedRequirements), (.alreadyStarted, .internalError),
    ]

    @Test(arguments: numbers) func `Each failure of the library has a number`(
        code: DataSamplerError.Code, number: AWSDKError
    ) {
        #expect(AWSDKError(AWSDKError.error(for: DataSamplerError(code, "why"))) == number)
    }

    private static let deliveries: [(failure: DeliveryFailure, number: AWSDKError)] = [
        (.offline, .serverIsNotReachableForRequiredSetup), (.timedOut, .serverIsNotReachableForRequiredSetup),
        (.gateClosed(.metered), .missingExpectedRequirements), (.notEnrolled, .deviceNotEnrolled),
        (.refused, .enrollmentBlocked),
    ]

    @Test(arguments: deliveries) func `What was not delivered has the number of its reason`(
        failure: DeliveryFailure, number: AWSDKError
    ) {
        let error = DataSamplerError(.notDelivered, "why", cause: failure)
        #expect(AWSDKError(AWSDKError.error(for: error)) == number)
    }
}
