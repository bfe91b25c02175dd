import Glibc

/// A value behind a lock that very many callers hold for the time it takes to copy a line.
///
/// Not `Mutex`: on Linux that is a futex with priority inheritance, which hands itself on to a waiter that first has to be woken, so with more
/// threads than processors a call costs a switch of threads (four threads on two processors: a fifth of this one's calls). This one goes to
/// whoever runs.
///
/// `@unchecked Sendable`: the value is touched only while the lock is held.
final class ShortLock<Value>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private var value: Value

    init(_ value: Value) {
        self.value = value
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    @inline(__always)
    func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body(&value)
    }
}
