import AWSDK
import DataSampler
import Foundation
import Synchronization

/// A ticket counter with telemetry by the names that ws1 documents. Only `configuration` and `stop` are ours.
///
///     swift run Tickets COLLECTOR-URL ENROLLMENT-TOKEN DATA-DIRECTORY
@main
struct Tickets {
    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 4 else { fatalError("usage: Tickets COLLECTOR-URL ENROLLMENT-TOKEN DATA-DIRECTORY") }

        // In place of the bundle that a program on Linux does not have.
        let controller = AWController.clientInstance()
        var configuration = DataSamplerConfiguration(
            directory: arguments[3], collectorURL: arguments[1], enrollmentToken: arguments[2])
        configuration.applicationIdentifier = "com.example.tickets"
        // So that events show at once, not after two hours.
        configuration.eventHold = 0
        controller.configuration = configuration
        try AWDataSampler.sharedInstance.configure(
            sampleModules: [AWDataSamplerModuleSystem, AWDataSamplerModuleAnalytics], defaultSampleInterval: 1,
            defaultTransmitInterval: 1, traceLevel: .warning)

        let delegate = TicketsDelegate()
        controller.delegate = delegate
        controller.start()
        delegate.checked.wait()
        if let error = delegate.error.withLock({ $0 }) {
            fatalError("the initial check failed with \(error.code): \(error.localizedDescription)")
        }
        serve(controller)
        report(controller)
        wait("stop") { controller.stop(completion: $0) }
        print("tickets: done")
    }

    /// The work of a program all day.
    static func serve(_ controller: AWController) {
        AWLogInfo("counter opened")
        AWLogDebug("enrolled at \(controller.enrollmentInfo.hostName ?? "?")")
        for ticket in 1...2 {
            AnalyticsHandler.sharedInstance.recordEvent(
                AWSDK.AnalyticsEvent.customEvent, eventName: "ticket.sold", eventValue: "\(ticket)",
                valueType: AWSDK.AnalyticsEventValueType.string)
        }
        AWLogWarning("the printer is low on paper")
    }

    /// The answers to what a support engineer asks for.
    static func report(_ controller: AWController) {
        let transmitter = SDKBeaconTransmitter.sharedTransmitter
        wait("token") { transmitter.sendBeacon(updatedAPNSToken: "4f1c9a", completion: $0) }
        wait("beacon") { transmitter.sendDeviceStatusBeacon(completion: $0) }
        transmitter.startSendingDeviceStatusBeacon(transmitFrequency: 900)

        guard AWLog.sharedInstance().hasAWLogs() else { fatalError("no line was kept") }
        wait("logs") { done in controller.sendLogDataWithCompletion { success, error in done(success, error) } }
        do {
            for chunk in try WS1SDKDataProvider().fetchSDKLogChunks() {
                print("tickets: \(chunk.suggestedFileName) has \(chunk.data.count) bytes")
            }
        } catch let error {
            fatalError("Failed to fetch SDK Log data with error: \(error)")
        }

        let asked = DispatchSemaphore(value: 0)
        DeviceInformationController.sharedController.refreshDeviceCompromisedStatus { isJailbroken, _, identifier in
            print("tickets: device \(identifier ?? "?") is \(isJailbroken ? "" : "not ")known to be compromised")
            asked.signal()
        }
        DeviceInformationController.sharedController.fetchApplicationAssignmentStatus { appStatus, _ in
            print("tickets: assignment \(appStatus)")
            asked.signal()
        }
        for _ in 1...2 { asked.wait() }
        controller.loadCommands()
        print("tickets: payload \(controller.sdkProfile()?.customPayload?.settings ?? "none")")
        do {
            let card = Data("the number of a card".utf8)
            let sealed = try controller.encrypt(card)
            guard try sealed != card && controller.decrypt(sealed) == card else { fatalError("it was not encrypted") }
            print("tickets: a card is kept in \(sealed.count) encrypted bytes")
        } catch {
            fatalError("\(error)")
        }
    }

    /// Waits for a completion, which must report success.
    static func wait(_ name: String, for call: (@escaping SendBeaconCompletion) -> Void) {
        let done = DispatchSemaphore(value: 0)
        call { success, error in
            guard success else { fatalError("\(name): \(error?.localizedDescription ?? "no reason")") }
            done.signal()
        }
        done.wait()
    }
}

final class TicketsDelegate: AWControllerDelegate {
    let checked = DispatchSemaphore(value: 0)
    let error = Mutex<NSError?>(nil)

    func controllerDidFinishInitialCheck(error: NSError?) {
        self.error.withLock { $0 = error }
        checked.signal()
    }

    func controllerDidReceive(enrollmentStatus: AWSDK.EnrollmentStatus) { AWLogInfo("now \(enrollmentStatus)") }

    func applicationShouldStopNetworkActivity(reason: AWSDK.NetworkActivityStatus) {
        AWLogWarning("nothing is sent: \(reason)")
    }
}
