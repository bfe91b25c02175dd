import CMalloc
import Glibc

/// What the agent does so that it is a small guest on its machine. For a process of its own, not for a library in an app.
package enum MemoryFootprint {
    /// Once, before there is a second thread.
    ///
    /// One arena instead of one per thread: each keeps pages of its own, and our few threads hardly ever allocate at the same time. Large
    /// blocks (a part to be sent, an answer) are mapped, so that their memory goes back when they are freed; the fixed threshold also
    /// keeps glibc from raising it with each of them.
    package static func prepare() {
        mallopt(M_ARENA_MAX, 1)
        mallopt(M_MMAP_THRESHOLD, 128 << 10)
        mallopt(M_TRIM_THRESHOLD, 64 << 10)
    }

    /// Gives back free heap, and pages of program and libraries; what is still needed is mapped again when it is touched, from the page cache.
    ///
    /// The start alone touches two thirds of the program's pages (argument parsing, metadata of generic types, enrollment) and would keep
    /// them resident for good, where no other memory pressure takes them.
    static func giveBack() {
        malloc_trim(0)
        guard let smaps = try? procFile("/proc/self/smaps") else { return }
        for range in ReleasablePages.ranges(smaps: smaps) {
            madvise(UnsafeMutableRawPointer(bitPattern: range.lowerBound), range.count, MADV_DONTNEED)
        }
    }

    private struct Unreadable: Error {}

    private static func procFile(_ path: String) throws -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Unreadable() }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        while true {
            let former = bytes.count
            bytes.reserveCapacity(former + (16 << 10))
            let count = try withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 1) { buffer in
                let count = read(descriptor, buffer.baseAddress, buffer.count)
                guard count >= 0 else { throw Unreadable() }
                bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                return count
            }
            if count == 0 { return String(decoding: bytes, as: UTF8.self) }
        }
    }
}
