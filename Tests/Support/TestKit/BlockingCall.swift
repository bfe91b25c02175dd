import Foundation

/// A call that blocks (a process, a plain socket), made on a thread of its own.
///
/// Never on a thread of the tasks or of a global dispatch queue, which are the same: there are as many as processors,
/// and tests run side by side.
package enum BlockingCall {
    package static func run<Value: Sendable, Failure: Error>(
        _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let result: Result<Value, Failure> = await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(returning: Result { () throws(Failure) in try body() })
            }
        }
        return try result.get()
    }
}
