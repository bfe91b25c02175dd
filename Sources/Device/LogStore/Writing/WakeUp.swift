import Glibc

/// Wakes one waiting thread. A wake-up while nobody waits is kept for the next wait. Any thread may wake.
///
/// `@unchecked Sendable`: the pointers are to objects made for several threads, and the mutex guards `isAwake`.
package final class WakeUp: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var isAwake = false

    package init() {
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
        condition.initialize(to: pthread_cond_t())
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        // Setting the wall clock must not stretch a wait.
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    package func wake() {
        pthread_mutex_lock(mutex)
        isAwake = true
        pthread_cond_signal(condition)
        pthread_mutex_unlock(mutex)
    }

    /// - Returns: `false` if the time passed without a wake-up.
    package func wait(milliseconds: Int64) -> Bool {
        var deadline = timespec()
        clock_gettime(CLOCK_MONOTONIC, &deadline)
        deadline.tv_sec += Int(milliseconds / 1000)
        deadline.tv_nsec += Int(milliseconds % 1000) * 1_000_000
        if deadline.tv_nsec >= 1_000_000_000 {
            deadline.tv_nsec -= 1_000_000_000
            deadline.tv_sec += 1
        }
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while !isAwake {
            if pthread_cond_timedwait(condition, mutex, &deadline) == ETIMEDOUT { break }
        }
        defer { isAwake = false }
        return isAwake
    }
}

/// A value behind a lock for very many callers, each of which holds it only while a line is copied.
///
/// `Mutex` is slower here. On Linux it is a futex with priority inheritance, which passes itself to a waiter that must
/// first be woken. With more threads than processors, each call then costs a thread switch: with four threads on two
/// processors it made a fifth of this lock's calls. This lock goes to any thread that is running.
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
