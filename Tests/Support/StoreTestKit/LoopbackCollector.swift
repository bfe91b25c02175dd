import DeviceTestKit
import FoundationEssentials
import Gzip
import RecordStore
import Synchronization
import TestKit
import Transmitter
import WireModel

/// A collector without a network: a transport that decodes what a device sends, lets a record store decide, and answers
/// as a collector does.
package final class LoopbackCollector: Transport {
    /// What goes wrong with one request.
    package enum Fault: Sendable {
        /// Never arrives.
        case requestLost
        /// Never arrives, for this reason.
        case failed(TransportError)
        /// Arrives; the answer does not.
        case answerLost
        /// Something else answers, and nothing arrives.
        case answered(TransportResponse)
        /// Arrives; something else answers in the collector's place.
        case answeredInstead(TransportResponse)
    }

    package typealias Faults = @Sendable (TransportRequest, WireBatchRequest?) -> Fault?

    /// What it has enrolled.
    private struct Devices {
        /// Device and enrollment by credential, the one to come of a rotation among them.
        var byCredential: [String: (device: DeviceID, enrollment: Data)] = [:]
        /// Answers by request id: a repeat gets the same device.
        var byRequest: [Data: WireEnrollAnswer] = [:]
        var incarnation = IncarnationID.random()
        var left: Set<DeviceID> = []
        var issued = 0
    }

    package let collectorID = CollectorID.random()
    /// The first device that enrolls.
    package let device = DeviceID.random()
    /// Its first credential.
    package let credential = "device-credential"
    package let enrollmentToken = "enrollment-token"
    package let uploads = LoopbackUploads()
    /// Counts the requests that arrived and were answered, whether or not the answer comes back.
    package let answered = Watched(0)
    private let store: any RecordStore
    private let faults: Mutex<Faults>
    private let devices = Mutex(Devices())
    private let counts = Mutex((batches: 0, enrollments: 0, closes: 0))
    private let profile: Mutex<WireProfile?>
    private let doNotDisturb = Mutex<(said: WireDoNotDisturb?, request: Data)>((WireDoNotDisturb(), Data()))
    private let allowsDoNotDisturb = Mutex(true)
    private let assignments = Mutex<[String]?>(nil)
    private let news = Mutex((revision: UInt64(0), commands: [WireCommand](), serverTime: Int64(0)))

    /// - Parameter profile: what devices get to run; `nil`: there is none.
    package init(
        store: any RecordStore, profile: WireProfile? = .analyticsOn, faults: @escaping Faults = { _, _ in nil }
    ) {
        self.store = store
        self.profile = Mutex(profile)
        self.faults = Mutex(faults)
    }

    package func setFaults(_ faults: @escaping Faults) { self.faults.withLock { $0 = faults } }

    /// Sets what devices get to run from now on.
    package func setProfile(_ profile: WireProfile?) { self.profile.withLock { $0 = profile } }

    /// Requests that arrived.
    package var batches: Int { counts.withLock { $0.batches } }
    package var enrollments: Int { counts.withLock { $0.enrollments } }
    package var closes: Int { counts.withLock { $0.closes } }
    package var incarnationID: IncarnationID { devices.withLock { $0.incarnation } }
    /// Devices that hold a credential.
    package var enrolledDevices: Set<DeviceID> { devices.withLock { Set($0.byCredential.values.map(\.device)) } }

    /// What rides on every batch answer from now on.
    package func setNews(revision: UInt64, commands: [WireCommand] = [], serverTime: Int64 = 0) {
        news.withLock { $0 = (revision, commands, serverTime) }
    }

    /// The newest decision on do-not-disturb, of all devices; `nil`: it does not know do-not-disturb, like an older
    /// one.
    package var doNotDisturbSaid: WireDoNotDisturb? { doNotDisturb.withLock { $0.said } }

    /// A person decided, or the collector was restored to this.
    package func setDoNotDisturb(_ said: WireDoNotDisturb?) { doNotDisturb.withLock { $0.said = said } }

    /// Whether the profile allows do-not-disturb.
    package func allowDoNotDisturb(_ isAllowed: Bool) { allowsDoNotDisturb.withLock { $0 = isAllowed } }

    /// The applications that are assigned to every device; `nil`: there is no list.
    package func setAssignments(_ applications: [String]?) { assignments.withLock { $0 = applications } }

    /// It was restored from a backup.
    package func reincarnate() { devices.withLock { $0.incarnation = .random() } }

    /// One credential is not known any more.
    package func forget(credential: String) { devices.withLock { $0.byCredential[credential] = nil } }

    /// No credential is known any more.
    package func forgetCredentials() { devices.withLock { $0.byCredential = [:] } }

    package func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
        let body = request.body.flatMap { try? GzipCodec.decompress($0) } ?? Data()
        let batch = request.path == WireNames.batchesPath ? try? WireBatchRequest.decode(body) : nil
        let fault = faults.withLock { $0 }(request, batch)
        switch fault {
        case .requestLost?: throw TransportError(.connectionClosed, "lost on the way")
        case .failed(let error)?: throw error
        case .answered(let response)?: return response
        case .answerLost?, .answeredInstead?, nil: break
        }
        let answer = await answer(request, body: body, batch: batch)
        answered.change { $0 += 1 }
        switch fault {
        case .answerLost?: throw TransportError(.timedOut, "the answer was lost on the way")
        case .answeredInstead(let response)?: return response
        default: return answer
        }
    }

    private func answer(_ request: TransportRequest, body: Data, batch: WireBatchRequest?) async -> TransportResponse {
        let bearer =
            request.headers.first { $0.name == "Authorization" }?.value.dropFirst("Bearer ".count).description ?? ""
        if request.path == WireNames.enrollPath { return enroll(body, token: bearer) }
        guard let sender = devices.withLock({ $0.byCredential[bearer] }) else { return response(401) }
        guard !devices.withLock({ $0.left.contains(sender.device) }) else { return response(403) }
        switch request.path {
        case let path where path.hasPrefix(WireNames.uploadsPath + "/"):
            let (status, answer) = uploads.answer(path.dropFirst(WireNames.uploadsPath.count + 1), body: body)
            return response(status, answer)
        case WireNames.rotatePath:
            var answer = WireRotateAnswer()
            answer.credential = newCredential(of: sender.device, sender.enrollment)
            return response(200, answer.encoded)
        case WireNames.unenrollPath:
            _ = devices.withLock { $0.left.insert(sender.device) }
            return response(204)
        case WireNames.batchesPath:
            guard let batch else { return response(400) }
            counts.withLock { $0.batches += 1 }
            let parts = batch.parts.compactMap { try? BatchPart($0) }
            var answer = WireBatchAnswer()
            answer.parts = await store.append(parts, from: sender.device, receivedAt: 1).map(\.wire)
            answer.durability = "fsync"
            (answer.profileRevision, answer.commands, answer.serverTime) = news.withLock { $0 }
            if let said = doNotDisturbSaid { answer.doNotDisturb = said }
            return response(200, answer.encoded)
        case WireNames.profilePath:
            guard let profile = profile.withLock({ $0 }) else { return response(404) }
            let tag = "\"\(profile.revision)\""
            let asked = request.headers.first { $0.name.lowercased() == "if-none-match" }?.value
            var answer = asked == tag ? response(304) : response(200, profile.encoded)
            answer.headers["etag"] = tag
            return answer
        case WireNames.commandsPath:
            var answer = WireCommandsAnswer()
            (answer.profileRevision, answer.commands, answer.serverTime) = news.withLock { $0 }
            if let said = doNotDisturbSaid { answer.doNotDisturb = said }
            return response(200, answer.encoded)
        case WireNames.assignmentsPath:
            var answer = WireAssignmentsAnswer()
            if let applications = assignments.withLock({ $0 }) {
                (answer.listed, answer.applications) = (true, applications)
            }
            return response(200, answer.encoded)
        case WireNames.doNotDisturbPath: return decide(request.method == .put ? body : nil)
        case WireNames.closePath:
            counts.withLock { $0.closes += 1 }
            guard let wire = try? WireCloseRequest.decode(body), EpochID(wire.epoch) != nil else {
                return response(400)
            }
            guard let answer = try? await store.answer(wire, from: sender.device) else { return response(503) }
            return response(200, answer.encoded)
        default: return response(404)
        }
    }

    private func response(_ status: Int, _ body: Data = Data()) -> TransportResponse {
        TransportResponse(
            status: status, headers: TransportResponse.collectorHeaders(collectorID, incarnationID), body: body)
    }

    /// - Parameter body: what a device decided; `nil`: it asks.
    private func decide(_ body: Data?) -> TransportResponse {
        guard var said = doNotDisturbSaid else { return response(404) }
        guard let body else { return response(200, said.encoded) }
        guard let decision = try? WireSetDoNotDisturb.decode(body) else { return response(400) }
        guard !decision.on || allowsDoNotDisturb.withLock({ $0 }) else { return response(409) }
        return doNotDisturb.withLock { held in
            if held.request != decision.requestID {
                (said.revision, said.on, said.person) = (said.revision + 1, decision.on, "")
                held = (said, decision.requestID)
            }
            return response(200, said.encoded)
        }
    }

    private func enroll(_ body: Data, token: String) -> TransportResponse {
        guard token == enrollmentToken else { return response(401) }
        guard let request = try? WireEnrollRequest.decode(body) else { return response(400) }
        counts.withLock { $0.enrollments += 1 }
        let former = devices.withLock { $0.byRequest[request.requestID] }
        if !request.requestID.isEmpty, let former { return response(200, former.encoded) }
        let asked = DeviceID(request.deviceID)
        let isKnown = devices.withLock { devices in devices.byCredential.values.contains { $0.device == asked } }
        if let asked, isKnown {
            let isProved = devices.withLock { $0.byCredential[request.previousCredential]?.device == asked }
            guard isProved else { return deviceConflict() }
        }
        let isFirst = devices.withLock { $0.issued == 0 }
        let device = asked ?? (isFirst ? self.device : .random())
        var answer = WireEnrollAnswer()
        answer.deviceID = device.data
        answer.enrollmentID = DeviceID.random().data
        answer.credential = newCredential(of: device, answer.enrollmentID)
        answer.organization = "default"
        answer.collectorID = collectorID.data
        answer.incarnationID = incarnationID.data
        answer.deviceKept = asked != nil
        let kept = answer
        devices.withLock {
            $0.left.remove(device)
            if !request.requestID.isEmpty { $0.byRequest[request.requestID] = kept }
        }
        return response(200, answer.encoded)
    }

    private func deviceConflict() -> TransportResponse {
        let problem = Problem(status: 409, code: Problem.Code.deviceConflict, title: "Device id taken", scope: .device)
        var answer = response(409, (try? JSONEncoder().encode(problem)) ?? Data())
        answer.headers["content-type"] = WireNames.problem
        return answer
    }

    private func newCredential(of device: DeviceID, _ enrollment: Data) -> String {
        devices.withLock { devices in
            devices.issued += 1
            let credential = devices.issued == 1 ? self.credential : "\(self.credential)-\(devices.issued)"
            devices.byCredential[credential] = (device, enrollment)
            return credential
        }
    }
}

extension WireProfile {
    /// The least that lets a device record events.
    package static let analyticsOn: WireProfile = {
        var profile = WireProfile()
        profile.revision = 1
        profile.analytics.enabled = true
        return profile
    }()
}
