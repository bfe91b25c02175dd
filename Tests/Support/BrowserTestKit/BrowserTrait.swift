import Testing
import Transmitter

/// Runs the tests of a suite one at a time with all others that have this trait, so that two processors have to carry
/// one page at once. Each test has a time limit that begins when its turn comes.
///
/// A test that waits for its turn occupies a place of the run's parallel tests. Add `.serialized` to a suite of many.
package struct BrowserTrait: SuiteTrait, TestTrait, TestScoping {
    let limit: Duration

    package var isRecursive: Bool { true }

    private static let turn = AsyncMutex()
    /// A suite within another with this trait has its turn already.
    @TaskLocal private static var hasTurn = false

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        if Self.hasTurn { return try await Self.run(within: limit, function) }
        guard await Self.turn.enter() else { throw CancellationError() }
        defer { Self.turn.leave() }
        try await Self.$hasTurn.withValue(true) { try await Self.run(within: limit, function) }
    }

    static func run(within limit: Duration, _ body: @Sendable () async throws -> Void) async throws {
        try await withoutActuallyEscaping(body) { body in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await body() }
                group.addTask {
                    try await Task.sleep(for: limit)
                    throw BrowserError.timedOut(limit, waitingFor: "the test to end")
                }
                defer { group.cancelAll() }
                try await group.next()
            }
        }
    }
}

extension Trait where Self == BrowserTrait {
    /// The trait for suites that open pages in `Browser.current`.
    package static var browser: Self { .browser(limit: .seconds(600)) }

    /// - Parameter limit: of each test, from its turn on.
    package static func browser(limit: Duration) -> Self { Self(limit: limit) }
}
