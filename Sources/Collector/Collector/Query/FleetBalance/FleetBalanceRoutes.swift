import CollectorAPI
import Hummingbird
import RecordStore
import Registry
import TelemetryBasics
import WireModel

/// Whether every record of the fleet is accounted for: the last balance of all devices, and the last proof of all that
/// is stored.
struct FleetBalanceRoutes: RouteGroup {
    let shared: RouteContext
    let keeper: FleetBalanceKeeper

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
        var view = FleetBalanceView()
        view.running = await keeper.isRunning
        view.organization = organization
        if let result = await keeper.result {
            view.state = "known"
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

extension FleetBalanceView.Balance {
    init(_ result: FleetBalanceKeeper.Result, _ sum: FleetBalance, isOfAll: Bool) {
        self.init()
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
        faults = sum.faults.map { found in
            var fault = Fault()
            fault.device = found.device.description
            fault.reasons = found.reasons.map(\.rawValue)
            fault.lostAtCollector = found.lostAtCollector
            fault.missing = found.missing
            fault.doubled = found.doubled
            return fault
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
        var scope = Scope()
        scope.files = summary.files
        scope.chains = summary.chains
        scope.records = summary.records
        scope.recordBytes = summary.recordBytes
        scope.rejected = summary.rejected
        scope.lostAtCollector = summary.lostAtCollector
        scope.chunks = summary.chunks
        scope.chunkBytes = summary.chunkBytes
        self.scope = scope
    }

    /// - Parameter findings: those that the person may see.
    init(_ summary: VerifySummary, findings: [VerifyReport.Finding]) {
        self.init()
        startedAt = Timestamp.text(summary.begun)
        completedAt = Timestamp.text(summary.ended)
        // Findings that were not kept may be about anybody.
        intact = findings.isEmpty && summary.findingCount == summary.findings.count
        findingCount = findings.count
        self.findings = findings.map(Finding.init)
    }
}

extension FleetBalanceView.Verification.Finding {
    init(_ finding: VerifyReport.Finding) {
        self.init()
        code = finding.code.rawValue
        file = finding.file
        device = finding.device
        epoch = finding.epoch
        stream = finding.stream
        first = finding.first
        last = finding.last
        message = finding.message
    }
}
