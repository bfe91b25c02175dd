import Glibc
import TelemetryBasics

/// The regular files of a directory, by name, inode and what rotation makes of a name. Made once for many questions, so
/// that a thousand files that went cost one listing.
struct DirectoryListing {
    struct Entry {
        let path: String
        /// See ``FilePosition/key(device:inode:)``.
        let key: String
        /// Nanoseconds since 1970.
        let modified: Int64
    }

    private(set) var entries: [Entry] = []
    private var byKey: [String: Int] = [:]
    private var byPrefix: [String: [Int]] = [:]

    /// - Parameter goesOn: asked before each file; after `false` the listing is not whole.
    init(_ directory: String, goesOn: () -> Bool) {
        for name in ((try? Files<FileError>.names(in: directory)) ?? []).sorted() where goesOn() {
            let path = directory == "/" ? "/\(name)" : "\(directory)/\(name)"
            var status = stat()
            guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
            let entry = Entry(path: path, key: FilePosition.key(status), modified: FileIntake.Look(status).modified)
            if byKey[entry.key] == nil { byKey[entry.key] = entries.count }
            for prefix in RotatedName.prefixes(path) { byPrefix[prefix, default: []].append(entries.count) }
            entries.append(entry)
        }
    }

    /// The first name of a file.
    func path(of key: String) -> String? { byKey[key].map { entries[$0].path } }

    /// Files that rotation may have made of this one, by their names. In the order of names.
    func rotations(of path: String) -> [Entry] {
        var places: Set<Int> = []
        for prefix in RotatedName.origins(path) { places.formUnion(byPrefix[prefix] ?? []) }
        return places.sorted().map { entries[$0] }.filter { RotatedName.isRotation($0.path, of: path) }
    }

    /// All compressed files; those that rotation may have made of this one first, and of these the newest.
    func compressed(of path: String) -> [Entry] {
        entries.filter { $0.path.hasSuffix(CompressedFile.suffix) }
            .map { (RotatedName.isRotation($0.path, of: path), $0) }
            .sorted { $0.0 != $1.0 ? $0.0 : $0.1.modified > $1.1.modified }
            .map(\.1)
    }
}

/// What rotation makes of a file's name: it adds a part behind the name, or before its extension.
///
///     a.log    a.log.1  a.log-20261129  a.log~       and, of logrotate's `extension .log`,
///              a.1.log  a-20261129.log
///
/// A name alone proves nothing: `job-2` may be a rotated `job`, or another job. Content decides.
enum RotatedName {
    private static let separators: Set<Character> = [".", "-", "_", "~"]

    static func isRotation(_ path: String, of original: String) -> Bool {
        func begins(with origin: Substring) -> Bool {
            path.count > origin.count && path.hasPrefix(origin)
                && separators.contains(path[path.index(path.startIndex, offsetBy: origin.count)])
        }
        if begins(with: original[...]) { return true }
        guard let dot = extensionDot(original), path != original else { return false }
        return path.hasSuffix(original[dot...]) && begins(with: original[..<dot])
            && path.count > original.count
    }

    /// With what the names of a file's rotations begin: its whole name, and the one without its extension.
    static func origins(_ path: String) -> [String] {
        [path] + (extensionDot(path).map { [String(path[..<$0])] } ?? [])
    }

    /// All beginnings of a name that end before a separator: what the names of files can be of which it is a rotation.
    static func prefixes(_ path: String) -> [String] {
        let start = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
        return path[start...].indices.filter { $0 > start && separators.contains(path[$0]) }
            .map { String(path[..<$0]) }
    }

    /// The dot before an extension that is a word, and no number or date.
    private static func extensionDot(_ path: String) -> String.Index? {
        guard let dot = path.lastIndex(of: "."), let next = path[dot...].dropFirst().first, next.isLetter,
            dot > path.startIndex, path[path.index(before: dot)] != "/", !path[dot...].contains("/")
        else { return nil }
        return dot
    }
}
