import RecordStore
import Synchronization

/// Reports steps to people at once, and progress every few seconds.
final class MoveReporter: Sendable {
    private let report: @Sendable (MoveNews) -> Void
    private let last = Mutex(ContinuousClock.now)

    private static let interval = Duration.seconds(3)

    init(_ report: @escaping @Sendable (MoveNews) -> Void) { self.report = report }

    /// Reports every few seconds that something lasts.
    func during<Value: Sendable>(
        _ text: String, _ body: () async throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        // It is cancelled at the end of the scope.
        async let _ = repeatUntilCancelled(text)
        return try await body()
    }

    private func repeatUntilCancelled(_ text: String) async {
        let begin = ContinuousClock.now
        while true {
            do { try await Task.sleep(for: Self.interval) } catch { return }
            report(.progress("\(text), \((ContinuousClock.now - begin).components.seconds) s"))
        }
    }

    func step(_ text: String) { report(.step(text)) }

    /// - Parameter text: is made only if it is time.
    func progress(_ text: () -> String) {
        let isTime = last.withLock { last in
            let now = ContinuousClock.now
            guard now - last >= Self.interval else { return false }
            last = now
            return true
        }
        if isTime { report(.progress(text())) }
    }
}
