import CMalloc
import Glibc
import ServiceLifecycle
import TelemetryBasics

/// Keeps the agent's resident memory small. These settings hold for the whole process, so no library may use them.
package enum MemoryFootprint {
    /// Configures the allocator. Call it once, before a second thread exists.
    ///
    /// All threads share one arena, because each arena keeps pages and our few threads rarely allocate at the same
    /// time. Large blocks are mapped, so that freeing them returns their memory. A fixed threshold also stops glibc
    /// from raising it after each large block.
    package static func prepare() {
        mallopt(M_ARENA_MAX, 1)
        mallopt(M_MMAP_THRESHOLD, 128 << 10)
        mallopt(M_TRIM_THRESHOLD, 64 << 10)
    }

    /// Returns free heap and the pages of program and libraries to the system. The kernel maps a page again when the
    /// program touches it.
    ///
    /// The start touches two thirds of the program's pages. Without memory pressure they would stay resident for good.
    static func giveBack() {
        malloc_trim(0)
        guard let smaps = try? Files<FileError>.read("/proc/self/smaps", maximumBytes: 64 << 20) else { return }
        for range in ReleasablePages.ranges(smaps: String(decoding: smaps, as: UTF8.self)) {
            madvise(UnsafeMutableRawPointer(bitPattern: range.lowerBound), range.count, MADV_DONTNEED)
        }
    }
}

/// Finds the memory that can be released at any time, because the kernel reads it again from its file.
///
/// A mapping counts only if it comes from a file, is read-only, and has no private page (`Anonymous: 0 kB`). Relocated
/// data and pages with a debugger's breakpoint have private pages, so they are never lost.
enum ReleasablePages {
    /// Reads the addresses from the text of `/proc/self/smaps` (proc_pid_smaps(5)).
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
                    // This is the last line of a mapping.
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

/// Releases memory after the start, and again at intervals, because rare work such as an enrollment needs extra memory.
struct FootprintService: Service {
    /// The first transmit is over by then, in most cases.
    static let first = Duration.seconds(30)
    /// One release costs about 3 ms of processor time (measured), mapping the needed pages again included.
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
