import Glibc

/// Processor time of this process, user and system, all threads.
enum ProcessorTime {
    static var microseconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
    }
}
