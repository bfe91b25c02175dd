import Collector
import CollectorMaintenance
import Forwarding
import Foundation
import LogArchive
import Logging
import RecordStore
import Registry
import ServiceLifecycle
import Synchronization
import TelemetryBasics

/// The stores of a serving collector and the work beside its server. They depend on where its data is.
protocol ServedData: Sendable {
    var metadata: MetadataService { get }
    /// Raises the notices of what devices send.
    var notices: NoticeService { get }
    var store: any RecordStore { get }
    var archive: LogArchive { get }
    /// The tokens of the very first start.
    var created: FirstStart? { get }
    var retention: LiveRetention { get }
    /// How many collectors serve the same devices now.
    var collectors: @Sendable () -> Int { get }

    /// The services that run while the collector serves.
    func services(
        _ watched: WatchedFiles, _ webhook: WebhookSender?, _ forwarding: ForwardService
    ) throws -> [any Service]

    /// Closes the data after the server has ended.
    func close() async
}

/// The files that housekeeping watches beside the data.
struct WatchedFiles: Sendable {
    var settings: Settings
    var certificates: @Sendable () -> [WatchedCertificate]
}

/// The limits of retention, which a reload changes, and the retention that applies them now.
final class LiveRetention: Sendable {
    private struct State {
        var limits: RetentionLimits
        var retention: RecordRetention?
    }

    private let state: Mutex<State>

    init(_ limits: RetentionLimits) { state = Mutex(State(limits: limits)) }

    var limits: RetentionLimits { state.withLock { $0.limits } }

    func setLimits(_ limits: RetentionLimits) async {
        let retention = state.withLock { state in
            state.limits = limits
            return state.retention
        }
        await retention?.setLimits(limits)
    }

    /// Passes what `setLimits` sets to `retention` from now on.
    func use(_ retention: RecordRetention) async {
        let limits = state.withLock { state in
            state.retention = retention
            return state.limits
        }
        await retention.setLimits(limits)
    }
}

/// Works beside the server until the process is asked to stop. The task is cancelled then.
struct BackgroundService: Service {
    let work: @Sendable () async -> Void

    func run() async {
        await cancelWhenGracefulShutdown { await work() }
    }
}

extension NoticeCourier {
    /// - Parameter webhook: `nil`: there is nobody to notify.
    init?(_ notices: NoticeService, _ webhook: WebhookSender?, logger: Logger) {
        guard let webhook else { return nil }
        self.init(service: notices, logger: logger) { await webhook.post($0) }
    }
}

extension Housekeeping {
    /// Runs beside a courier, so that a slow receiver of notices does not delay it. Until the task is cancelled.
    func run(beside courier: NoticeCourier?) async {
        await withTaskGroup { group in
            group.addTask { await run(on: .continuous) }
            if let courier { group.addTask { await courier.run(on: .continuous) } }
        }
    }
}

extension TokenWatch {
    convenience init(_ metadata: MetadataService, _ notices: NoticeService, _ settings: Settings, logger: Logger) {
        let place =
            switch settings.store {
            case .directory: "--data \(settings.data)"
            case .cluster: "--config \(settings.configurationFile ?? "FILE")"
            }
        self.init(place: place, notices: notices, clock: SystemStoreClock(), logger: logger) {
            try await metadata.tokens()
        }
    }
}
