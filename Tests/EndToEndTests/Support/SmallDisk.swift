import Foundation
import Glibc

/// A file system of a few megabytes.
struct SmallDisk {
    static var canMount: Bool { getuid() == 0 }

    let path: String

    /// - Parameter inodes: `nil`: as many as the system gives.
    init(megabytes: Int, inodes: Int? = nil) throws {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("ws1-disk-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        guard mount("tmpfs", path, "tmpfs", 0, "size=\(megabytes)m\(inodes.map { ",nr_inodes=\($0)" } ?? "")") == 0
        else {
            let reason = String(cString: strerror(errno))
            try? FileManager.default.removeItem(atPath: path)
            throw EndToEndError("cannot mount a tmpfs, although root: \(reason)")
        }
    }

    /// Fills all room there is.
    func fill() throws -> String {
        let filler = path + "/filler"
        let descriptor = open(filler, O_WRONLY | O_CREAT | O_EXCL, 0o600)
        guard descriptor >= 0 else { throw EndToEndError("cannot write to \(path)") }
        defer { close(descriptor) }
        for size in [1 << 16, 512] {
            let zeros = [UInt8](repeating: 0, count: size)
            while write(descriptor, zeros, size) == size {}
        }
        return filler
    }

    /// Uses all inodes there are; their bytes stay free.
    func takeInodes() throws -> String {
        let fillers = path + "/fillers"
        try FileManager.default.createDirectory(atPath: fillers, withIntermediateDirectories: false)
        var count = 0
        while true {
            let descriptor = open("\(fillers)/\(count)", O_WRONLY | O_CREAT | O_EXCL, 0o600)
            guard descriptor >= 0 else { break }
            close(descriptor)
            count += 1
        }
        guard errno == ENOSPC, count > 0 else { throw EndToEndError("inodes of \(path) cannot be taken") }
        return fillers
    }

    func remove() {
        umount2(path, Int32(MNT_DETACH))
        try? FileManager.default.removeItem(atPath: path)
    }
}
