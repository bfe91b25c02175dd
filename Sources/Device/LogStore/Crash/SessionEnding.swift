import Glibc

/// Notes how a program ended in the marker it left behind, for whoever opens the store next and tells of the crash.
package enum SessionEnding {
    /// - Parameters:
    ///   - code, status, result: as systemd says them: `$EXIT_CODE`, `$EXIT_STATUS`, `$SERVICE_RESULT`.
    ///   - application: whose session it was.
    /// - Returns: whether there was a marker to note it in; after an orderly end there is none.
    package static func note(
        code: String, status: String, result: String, application: String, in directory: StoreDirectory
    ) throws(LogStoreError) -> Bool {
        try note(
            SessionRecord.Exit(code: code, status: status, result: result), of: application, bootID: SystemClock.bootID(), in: directory)
    }

    /// - Parameter bootID: of the machine now: what an earlier boot left did not end by this.
    static func note(
        _ exit: SessionRecord.Exit, of application: String, bootID: String?, in directory: StoreDirectory
    ) throws(LogStoreError) -> Bool {
        do {
            let lock = try StoreLock(directory)
            defer { extendLifetime(lock) }
            let ordinals = try directory.names().compactMap { SessionMarker.ordinal(of: $0) }
            for ordinal in ordinals.sorted(by: >) {
                if try note(exit, of: application, bootID, in: directory.path(SessionMarker.name(ordinal))) { return true }
            }
            return false
        } catch {
            // No store, no session.
            guard error.code == .notFound else { throw error }
            return false
        }
    }

    private static func note(
        _ exit: SessionRecord.Exit, of application: String, _ bootID: String?, in path: String
    ) throws(LogStoreError) -> Bool {
        let descriptor = open(path, O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw .system("opening", path) }
        let file = StoreFile(descriptor: descriptor, path: path)
        // It runs, or its crash is being told.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return false }
        defer { flock(descriptor, LOCK_UN) }
        let text = String(decoding: try file.readWhole(maximumBytes: CrashReporter.maximumMarkerBytes), as: UTF8.self)
        guard let session = SessionRecord(reading: text), session.application == application, session.exit == nil,
            session.bootID == bootID
        else { return false }
        // A line that was cut off when the program died ends here.
        try file.write(Array(((text.hasSuffix("\n") ? "" : "\n") + SessionRecord.exitLine(exit)).utf8))
        try file.sync()
        return true
    }
}
