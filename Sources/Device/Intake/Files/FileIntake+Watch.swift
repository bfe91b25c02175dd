import Glibc
import TelemetryBasics

/// Which files are looked at, and when.
///
/// Where each directory can be watched, a file is looked at when its directory says that it changed, and all files once
/// a minute. Everything else is polled, each second: all files where a directory cannot be watched; those that can be
/// written without an event; and those that wait for a time to pass.
extension FileIntake {
    /// Begins a turn.
    /// - Returns: whether there is anything to look at.
    func plan(_ batch: inout IntakeBatch, _ now: Int64) -> Bool {
        let news = watch.news(for: reader)
        changed.formUnion(news.paths)
        if news.isSearchNeeded { isSearchNeeded = true }
        if now >= nextSearch {
            nextSearch = now + configuration.searchMilliseconds
            lag.problems = []
            if isSearchNeeded || !isWatched || now >= nextWhole {
                nextWhole = now + configuration.wholeMilliseconds
                // Watched before the search, so that what changes during it is seen by one of the two. What cannot be
                // watched is not tried again each second.
                if isWatched || now >= nextWatch {
                    isWatched = watch.set(directories(), for: reader)
                    nextWatch = now + configuration.wholeMilliseconds
                }
                isSearchNeeded = false
                search(&batch, now)
                // One that is missing is looked for until it is found or given up.
                if files.values.contains(where: { $0.missing > 0 }) { isSearchNeeded = true }
                turn = files.keys.sorted()
                changed = []
                return true
            }
        }
        if !isWatched {
            turn = files.keys.sorted()
        } else {
            var due = restless
            if !changed.isEmpty {
                for (key, file) in files where changed.contains(file.position.path) { due.insert(key) }
            }
            turn = due.sorted()
        }
        changed = []
        return !turn.isEmpty
    }

    /// Notes whether a file must be looked at again though nothing says that it changed.
    func settle(_ key: String) {
        guard let file = files[key] else {
            restless.remove(key)
            return
        }
        let isSettled =
            file.drained != nil && file.position.open == nil && file.position.copyOf == nil && !file.isLinked
        if isSettled { restless.remove(key) } else { restless.insert(key) }
    }

    /// The directories in which names can come and go, or files can change.
    func directories() -> Set<String> {
        var directories = Set(files.values.compactMap { Paths.parent(of: $0.position.path) })
        for pattern in configuration.patterns {
            // Of `/a/*/b*/c.log`: `/a`, all `/a/*`, and all `/a/*/b*`.
            var prefix = Substring(pattern)
            while let slash = prefix.lastIndex(of: "/") {
                prefix = prefix[..<slash]
                let isPlain = !prefix.contains { "*?[\\{~".contains($0) }
                if isPlain {
                    directories.insert(prefix.isEmpty ? "/" : String(prefix))
                    break
                }
                directories.formUnion(Self.paths(String(prefix)).filter(Self.isDirectory))
            }
        }
        return directories
    }

    static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// Whether a file can be written by a name that is in no watched directory.
    static func isLinked(_ path: String, _ status: stat) -> Bool {
        var named = stat()
        return status.st_nlink > 1 || lstat(path, &named) != 0 || named.st_mode & S_IFMT == S_IFLNK
    }
}
