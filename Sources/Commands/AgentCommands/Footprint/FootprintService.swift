import ServiceLifecycle

/// Gives back memory when the start is over, and then now and then: rare work (a beacon, an enrollment, a backlog) leaves some behind.
struct FootprintService: Service {
    /// The first transmit is over by then, in most cases.
    static let first = Duration.seconds(30)
    /// Measured: reading the list and mapping again what is needed takes about 3 ms of processor time.
    static let interval = Duration.seconds(600)

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var pause = Self.first
            while (try? await Task.sleep(for: pause)) != nil {
                MemoryFootprint.giveBack()
                pause = Self.interval
            }
        }
    }
}
