import Glibc

extension FileIntake {
    /// A file that is read, and what is known of it in memory alone.
    struct Tracked {
        var position: FilePosition
        var descriptor: Int32 = -1
        /// What the file looked like when it had been read to its end.
        var drained: Look?
        /// Milliseconds since boot at which something was read last.
        var lastRead: Int64
        var isMatched = false
        /// It may be written by a name that is in no watched directory.
        var isLinked = false
        /// Searches in a row that found it under no name. One may miss a file that is being renamed.
        var missing = 0
        /// The file that had this one's path before; see ``FileIntake/takeOver(_:_:_:)``.
        var predecessor: String?
        /// It may turn out to be a copy when its first bytes are there.
        var isUndecided = false
        /// It was looked at since the start.
        var isSeen = false

        /// Something of it is held back until a time has passed.
        var waits: Bool { position.open != nil || position.isRotated && position.offset < position.size }
    }

    /// What changes with a file's content.
    struct Look: Equatable {
        var size: Int
        var modified: Int64
        var changed: Int64

        init(_ status: stat) {
            size = Int(status.st_size)
            modified = Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec)
            changed = Int64(status.st_ctim.tv_sec) * 1_000_000_000 + Int64(status.st_ctim.tv_nsec)
        }
    }
}
