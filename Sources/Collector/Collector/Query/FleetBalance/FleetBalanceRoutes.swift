import CollectorStore
import Hummingbird
import TelemetryBasics
import WireModel

/// Whether every record of the fleet is accounted for: the last balance of all devices, and the last proof of all that
/// is stored.
struct FleetBalanceRoutes: Sendable {
    let keeper: FleetBalanceKeeper
    let metadata: MetadataService

    func add(to router: CollectorRouter) {
        router.people(.viewer)
            .get("/api/v1/balance", use: get)
            .post("/api/v1/balance", use: ask)
    }

    private func get(_ request: Request, _ context: PersonContext) async throws -> Response {
        let withTest = try QueryParameters(request, known: ["test"]).flag("test")
        return try await view(context, withTest: withTest).response()
    }

    private func ask(_ request: Request, _ context: PersonContext) async throws -> Response {
        _ = try QueryParameters(request, known: [])
        await keeper.ask()
        return try await view(context, withTest: false).response(status: .accepted)
    }

    private func view(_ context: PersonContext, withTest: Bool) async throws -> FleetBalanceView {
        let organization = context.person.organization
        var view = FleetBalanceView(isRunning: await keeper.isRunning, organization: organization)
        if let result = await keeper.result {
            view.state = .known
            view.balance = .init(
                result, result.balance(of: organization, withTest: withTest), isOfAll: organization == nil)
        }
        view.verification = try await verification(for: context.person)
        return view
    }

    /// - Returns: `nil` if the stored data were never verified here.
    private func verification(for person: Person) async throws -> FleetBalanceView.Verification? {
        guard let summary = try await metadata.lastVerification() else { return nil }
        guard let organization = person.organization else { return .init(summary) }
        // What concerns the person: the organization's devices, and record files as a whole.
        var own: [VerifyReport.Finding] = []
        for finding in summary.findings {
            if let text = finding.device {
                guard let device = DeviceID(text),
                    try await metadata.device(device, organization: organization) != nil
                else { continue }
            } else if !finding.file.hasPrefix("records/") {
                continue
            }
            own.append(finding)
        }
        return .init(summary, findings: own)
    }
}

/// The fleet's balance, as people see it.
struct FleetBalanceView: Encodable {
    enum State: String, Encodable {
        /// No pass has ended since the collector started.
        case unknown
        case known
    }

    struct Balance: Encodable {
        struct Fault: Encodable {
            var device: String
            var reasons: [String]
            var lostAtCollector: UInt64
            var missing: UInt64
            var doubled: UInt64
        }

        var startedAt: String
        var completedAt: String
        /// Nothing is lost, doubled or contradictory, and every record file was read.
        var intact: Bool
        var devices: Int
        var devicesWaiting: Int
        var streams: Int
        var streamsLeftOut: Int
        var files: Int?
        var produced: UInt64
        var stored: UInt64
        /// The rejected records by reason.
        var rejected: [String: UInt64]
        var dropped: [String: UInt64]
        var waiting: UInt64
        var lost: UInt64
        var lostAtCollector: UInt64
        var missing: UInt64
        var doubled: UInt64
        var devicesWithFaults: Int
        var faults: [Fault]
        /// Absent if there are none.
        var unreadableFiles: [String]?
    }

    /// The result of the last `ws1collector verify`.
    struct Verification: Encodable {
        struct Scope: Encodable {
            var files: Int
            var chains: Int
            var records: UInt64
            var recordBytes: UInt64
            var rejected: UInt64
            var lostAtCollector: UInt64
            var chunks: Int
            var chunkBytes: UInt64
        }

        var startedAt: String
        var completedAt: String
        /// Nothing was found wrong in what the person may see.
        var intact: Bool
        /// Only for people of all organizations.
        var scope: Scope?
        var findingCount: Int
        var findings: [VerifyReport.Finding]
    }

    var state = State.unknown
    var running: Bool
    /// Absent: all organizations.
    var organization: String?
    /// Absent while it is unknown.
    var balance: Balance?
    /// `null` if the stored data were never verified here.
    var verification: Verification?

    private enum Key: CodingKey { case state, running, organization, balance, verification }

    init(isRunning: Bool, organization: String?) {
        running = isRunning
        self.organization = organization
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(state, forKey: .state)
        try container.encode(running, forKey: .running)
        try container.encodeIfPresent(organization, forKey: .organization)
        try container.encodeIfPresent(balance, forKey: .balance)
        try container.encode(verification, forKey: .verification)
    }
}

extension FleetBalanceView.Balance {
    init(_ result: FleetBalanceKeeper.Result, _ sum: FleetBalance, isOfAll: Bool) {
        startedAt = Timestamp.text(result.began)
        completedAt = Timestamp.text(result.completed)
        intact =
            sum.lost == 0 && sum.doubled == 0 && sum.streamsLeftOut == 0 && result.unreadableFiles.isEmpty
            && result.furtherFaults == 0
        devices = sum.devices
        devicesWaiting = sum.devicesWaiting
        streams = sum.streams
        streamsLeftOut = sum.streamsLeftOut
        files = isOfAll ? result.files : nil
        produced = sum.produced
        stored = sum.stored
        rejected = sum.rejected
        dropped = sum.dropped
        waiting = sum.waiting
        lost = sum.lost
        lostAtCollector = sum.lostAtCollector
        missing = sum.missing
        doubled = sum.doubled
        devicesWithFaults = sum.devicesWithFaults
        faults = sum.faults.map {
            Fault(
                device: $0.device.description, reasons: $0.reasons.map(\.rawValue), lostAtCollector: $0.lostAtCollector,
                missing: $0.missing, doubled: $0.doubled)
        }
        unreadableFiles = result.unreadableFiles.isEmpty ? nil : result.unreadableFiles
    }
}

extension FleetBalanceView.Verification {
    /// Creates the view for people of all organizations.
    init(_ summary: VerifySummary) {
        self.init(summary, findings: summary.findings)
        intact = summary.findingCount == 0
        findingCount = summary.findingCount
        scope = Scope(
            files: summary.files, chains: summary.chains, records: summary.records, recordBytes: summary.recordBytes,
            rejected: summary.rejected, lostAtCollector: summary.lostAtCollector, chunks: summary.chunks,
            chunkBytes: summary.chunkBytes)
    }

    /// - Parameter findings: those that the person may see.
    init(_ summary: VerifySummary, findings: [VerifyReport.Finding]) {
        startedAt = Timestamp.text(summary.begun)
        completedAt = Timestamp.text(summary.ended)
        // Findings that were not kept may be about anybody.
        intact = findings.isEmpty && summary.findingCount == summary.findings.count
        findingCount = findings.count
        self.findings = findings
    }
}
