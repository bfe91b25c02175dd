import Glibc

/// The least a sample can cost: the kernel writing the files that every sample needs, and nothing done with them.
final class BareReading {
    static let system = [
        "/proc/stat", "/proc/loadavg", "/proc/pressure/cpu", "/proc/pressure/memory", "/proc/pressure/io",
        "/proc/meminfo",
        "/proc/self/mountinfo", "/proc/diskstats", "/proc/self/statm", "/proc/self/io",
    ]
    private let descriptors: [Int32]
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)

    init(_ files: [String] = system) {
        // What this kernel does not have costs a sample nothing either.
        descriptors = files.map { open($0, O_RDONLY | O_CLOEXEC) }.filter { $0 >= 0 }
    }

    deinit {
        for descriptor in descriptors { close(descriptor) }
        buffer.deallocate()
    }

    func processorMicroseconds(samples: Int) -> Double {
        let before = ProcessorTime.microseconds
        for _ in 0..<samples {
            for descriptor in descriptors {
                var offset = 0
                while true {
                    let count = pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
                    guard count > 0 else { break }
                    offset += count
                }
            }
        }
        return (ProcessorTime.microseconds - before) / Double(samples)
    }
}
