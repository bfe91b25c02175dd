import Collector
import Foundation
import Synchronization
import WireModel

@testable import CollectorStore

/// Organizations, devices and people in memory. Tokens and credentials are what the tests say they are.
final class InMemoryRegistry: DeviceRegistry {
    struct State {
        var enrollmentTokens: [String: String] = ["enroll-default": "default", "enroll-other": "other"]
        var expiredEnrollmentTokens: Set<String> = ["enroll-expired"]
        var people: [String: Person] = [:]
        var devices: [DeviceID: DeviceRow] = [:]
        var credentials: [String: DeviceID] = [:]
        var enrollments = 0
    }

    let collectorID = CollectorID(high: 1, low: 2)
    let incarnationID = IncarnationID(high: 3, low: 4)
    private let state: Mutex<State>

    init() {
        var state = State()
        for organization in ["default", "other"] {
            for role in PersonRole.allCases {
                let token = "\(role)-\(organization)"
                state.people[token] = Person(name: "\(role)", role: role, organization: organization, tokenID: token)
            }
        }
        state.people["administrator-all"] = Person(
            name: "administrator", role: .administrator, organization: nil, tokenID: "administrator-all")
        self.state = Mutex(state)
    }

    func change(_ body: (inout State) -> Void) { state.withLock { body(&$0) } }
    var deviceCount: Int { state.withLock { $0.devices.count } }

    func checkEnrollmentToken(_ token: String) async throws(EnrollError) {
        let refusal = state.withLock { state -> EnrollError? in
            state.expiredEnrollmentTokens.contains(token)
                ? .tokenExpired : state.enrollmentTokens[token] == nil ? .tokenUnknown : nil
        }
        if let refusal { throw refusal }
    }

    func enroll(token: String, request: WireEnrollRequest) async throws(EnrollError) -> EnrollResult {
        try await checkEnrollmentToken(token)
        return state.withLock { state in
            state.enrollments += 1
            let (id, credential) = (DeviceID.random(), "credential-\(state.enrollments)")
            let organization = state.enrollmentTokens[token] ?? ""
            state.devices[id] = DeviceRow(
                id: id, organization: organization, name: request.deviceName, operatingSystem: request.operatingSystem,
                agentVersion: request.agentVersion, application: request.application, machineHash: request.machineHash,
                test: request.test,
                created: Harness.now, enrolled: Harness.now, enrollmentID: Data(repeating: 9, count: 16))
            state.credentials[credential] = id
            return EnrollResult(
                deviceID: id, credential: credential, organization: organization, profileRevision: 1, deviceKept: false,
                enrollmentID: Data(repeating: 9, count: 16))
        }
    }

    func authenticateDevice(
        credential: String, admits: @Sendable (DeviceRow) -> Bool
    ) async throws(StoreError) -> DeviceAuthentication {
        state.withLock { state in
            guard let id = state.credentials[credential], let device = state.devices[id] else { return .unknown }
            return device.revoked != nil ? .revoked : device.left != nil ? .left : .device(device)
        }
    }

    func authenticatePerson(token: String) async throws(StoreError) -> Person? { state.withLock { $0.people[token] } }

    func rotateCredential(device: DeviceID) async throws(StoreError) -> String {
        state.withLock { state in
            state.credentials["rotated"] = device
            return "rotated"
        }
    }

    func keepCertificate(_ certificate: DeviceCertificate, device: DeviceID, reason: String) async throws(StoreError) {
        state.withLock { $0.devices[device]?.certificates.append(certificate) }
    }

    func noteCertificateUse(_ fingerprint: Data, device: DeviceID) async throws(StoreError) {
        state.withLock { state in
            guard let index = state.devices[device]?.certificates.firstIndex(where: { $0.fingerprint == fingerprint })
            else { return }
            state.devices[device]?.certificates[index].used = Harness.now
            state.devices[device]?.certificates.removeFirst(index)
        }
    }

    func unenroll(device: DeviceID) async throws(StoreError) {
        state.withLock { $0.devices[device]?.left = Harness.now }
    }

    func seen(_ device: DeviceID, _ sight: DeviceObservation) async {
        state.withLock { state in
            state.devices[device]?.lastSeen = sight.at
            if let beacon = sight.beacon {
                state.devices[device]?.beacon = beacon
                state.devices[device]?.lastBeacon = sight.beaconAt
            }
            if let seconds = sight.expectedBeaconSeconds { state.devices[device]?.expectedBeaconSeconds = seconds }
            if let identity = sight.identity { state.devices[device]?.identity = identity }
        }
    }

    func readiness() async -> StoreReadiness { .ready }

    func devices(organization: String?, after cursor: String?, limit: Int) async throws(StoreError) -> DevicePage {
        state.withLock { state in
            let rows = state.devices.values.filter { organization == nil || $0.organization == organization }
                .filter { $0.id.description > cursor ?? "" }.sorted { $0.id.description < $1.id.description }
            let page = Array(rows.prefix(limit))
            return DevicePage(devices: page, next: rows.count > limit ? page.last?.id.description : nil)
        }
    }

    func devices(_ query: DeviceQuery, after position: DevicePosition?, limit: Int) async throws(StoreError)
        -> DeviceList
    {
        state.withLock { state in
            let index = DeviceIndex()
            state.devices.values.forEach(index.insert)
            let found = index.page(query, after: position, limit: limit, at: Harness.now)
            return DeviceList(devices: found.ids.compactMap { state.devices[$0] }, total: found.total, next: found.next)
        }
    }

    func lineage(of device: DeviceRow) async throws(StoreError) -> DeviceLineage { DeviceLineage(predecessors: []) }

    func deviceIDs(organization: String?, withTest: Bool) async throws(StoreError) -> [DeviceID] {
        state.withLock { state in
            state.devices.values.filter {
                (organization == nil || $0.organization == organization) && (withTest || !$0.test)
            }
            .map(\.id).sorted { $0.description < $1.description }
        }
    }

    func device(_ id: DeviceID, organization: String?) async throws(StoreError) -> DeviceRow? {
        state.withLock { $0.devices[id].flatMap { organization == nil || $0.organization == organization ? $0 : nil } }
    }
}
