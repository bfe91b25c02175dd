import FoundationEssentials
import Glibc

/// The directory of a log store, by its path: what is done with names, not with content.
package struct StoreDirectory: Hashable, Sendable {
    package let path: String

    package init(path: String) { self.path = path }

    package func path(_ file: String) -> String { "\(path)/\(file)" }

    package func path(_ name: SegmentName, _ part: SegmentName.Part) -> String { path(name.file(part)) }

    package func has(_ name: SegmentName, _ part: SegmentName.Part) -> Bool { access(path(name, part), F_OK) == 0 }

    /// Every name in it, in no order.
    /// - Throws: `.notFound` where there is no such directory.
    package func names() throws(LogStoreError) -> [String] {
        guard let stream = opendir(path) else { throw .system("opening", path) }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// What lies there of every segment, by name.
    package func segments() throws(LogStoreError) -> [SegmentName: Set<SegmentName.Part>] {
        var found: [SegmentName: Set<SegmentName.Part>] = [:]
        for file in try names() {
            guard let (name, part) = SegmentName.read(file) else { continue }
            found[name, default: []].insert(part)
        }
        return found
    }

    /// Over what is there under the new name.
    package func rename(_ file: String, to newName: String) throws(LogStoreError) {
        guard Glibc.rename(path(file), path(newName)) == 0 else { throw .system("renaming", path(file)) }
    }

    /// Harmless where there is none.
    package func remove(_ file: String) throws(LogStoreError) {
        guard unlink(path(file)) == 0 || errno == ENOENT else { throw .system("removing", path(file)) }
    }

    /// Returns once names made, changed and removed here are on synced disk.
    package func sync() throws(LogStoreError) {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .system("opening", path) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw .system("syncing", path) }
    }
}
