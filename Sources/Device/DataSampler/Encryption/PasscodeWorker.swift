import TelemetryBasics

/// Derives keys of passcodes on a queue of its own, one after the other.
actor PasscodeWorker {
    static let shared = PasscodeWorker()

    private let executor = BlockingExecutor(label: "ws1.passcode")

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    func run<Value: Sendable>(_ body: @Sendable () -> Value) -> Value { body() }
}
