import CollectorStore
import ServiceLifecycle

/// Housekeeping beside the server, until the process is told to stop.
struct HousekeepingService: Service {
    private let housekeeping: Housekeeping

    init(_ housekeeping: Housekeeping) {
        self.housekeeping = housekeeping
    }

    func run() async {
        await cancelWhenGracefulShutdown { await housekeeping.run(on: .continuous) }
    }
}
