import CMalloc
import Glibc
import ServiceLifecycle
import TelemetryBasics

/// What the agent does so that it is a small guest on its machine. For a process of its own, not for a library in an
/// app.
package enum MemoryFootprint {
    /// Once, before there is a second thread.
    ///
    /// One arena instead of one per thread: each keeps pages of its own, and our few threads hardly ever allocate at
    /// the same time. Large blocks (a part to be sent, an answer) are mapped, so that their memory goes back when they
    /// are freed; the fixed threshold also keeps glibc from raising it with each of them.
    package static func prepare() {
        mallopt(M_ARENA_MAX, 1)
        mallopt(M_MMAP_THRESHOLD, 128 << 10)
        mallopt(M_TRIM_THRESHOLD, 64 << 10)
    }

    /// Gives back free heap, and pages of program and libraries; what is still needed is mapped again when it is
    /// touched, from the page cache.
    ///
    /// The start alone touches two thirds of the program's pages (argument parsing, metadata of generic types,
    /// enrollment) and would keep them resident for good, where no other memory pressure takes them.
    static func giveBack() {
        malloc_trim(0)
        guard let smaps = try? Files<FileError>.read("/proc/self/smaps", maximumBytes: 64 << 20) else { return }
        for range in ReleasablePages.ranges(smaps: String(decoding: smaps, as: UTF8.self)) {
            madvise(UnsafeMutableRawPointer(bitPattern: range.lowerBound), range.count, MADV_DONTNEED)
        }
    }
}

/// Which parts of this process's memory can be given back at any time because they are read again from their files when
/// they are touched.
///
/// Only what is mapped from a file, cannot be written to, and has no page of its own (`Anonymous: 0 kB`) is among them.
/// So neither relocated data that was made read-only afterwards nor a page in which a debugger has set a breakpoint can
/// ever be lost.
enum ReleasablePages {
    /// Addresses, from the text of `/proc/self/smaps` (proc_pid_smaps(5)).
    static func ranges(smaps text: some StringProtocol) -> [Range<UInt>] {
        var ranges: [Range<UInt>] = []
        var mapping: Range<UInt>?
        for line in text.split(separator: "\n") {
            if let header = Header(line) {
                mapping = header.isReadOnlyFile ? header.addresses : nil
            } else if let range = mapping {
                let fields = line.split(separator: " ")
                switch fields.first {
                case "Anonymous:" where fields.dropFirst().first != "0",
                    "Locked:" where fields.dropFirst().first != "0":
                    mapping = nil
                case "VmFlags:":
                    // The last line of a mapping.
                    ranges.append(range)
                    mapping = nil
                default: break
                }
            }
        }
        return ranges
    }

    /// The first line of a mapping: `55d0c0a00000-55d0c0c00000 r-xp 00001000 fe:00 1234 /usr/bin/ws1agent`.
    private struct Header {
        var addresses: Range<UInt>
        var isReadOnlyFile: Bool

        init?(_ line: some StringProtocol) {
            let fields = line.split(separator: " ", maxSplits: 5)
            guard fields.count >= 5, let dash = fields[0].firstIndex(of: "-"),
                let start = UInt(fields[0][..<dash], radix: 16),
                let end = UInt(fields[0][fields[0].index(after: dash)...], radix: 16),
                start < end
            else { return nil }
            addresses = start..<end
            let permissions = Array(fields[1])
            isReadOnlyFile =
                permissions.count == 4 && permissions[0] == "r" && permissions[1] == "-" && permissions[3] == "p"
                && fields[4] != "0"
        }
    }
}

/// Gives back memory when the start is over, and then now and then: rare work (a beacon, an enrollment, a backlog)
/// leaves some behind.
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
