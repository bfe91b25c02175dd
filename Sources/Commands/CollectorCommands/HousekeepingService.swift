import CollectorStore
import ServiceLifecycle

/// Housekeeping beside the server, until the process is told to stop.
struct HousekeepingService: Service {
    private let housekeeping: Housekeeping
    private let courier: NoticeCourier?

    /// - Parameter courier: hands notices on; `nil`: nobody wants them.
    init(_ housekeeping: Housekeeping, courier: NoticeCourier? = nil) {
        self.housekeeping = housekeeping
        self.courier = courier
    }

    func run() async {
        await cancelWhenGracefulShutdown {
            await withTaskGroup { group in
                group.addTask { await housekeeping.run(on: .continuous) }
                // A receiver that is slow must not keep the house from being kept.
                if let courier { group.addTask { await courier.run(on: .continuous) } }
            }
        }
    }
}
