import CollectorStore

/// The two files that the first start leaves in the data directory, each with one token and a newline, for the owner alone (0600).
struct FirstStartFiles: Sendable {
    let directory: String

    var enrollmentTokenPath: String { "\(directory)/enrollment-token" }
    var administratorTokenPath: String { "\(directory)/administrator-token" }

    /// An older file is of an older collector: its tokens are void.
    func write(_ created: FirstStart) throws(StoreError) {
        let remedy = "Mend that, then start again."
        do throws(CommandError) {
            try OwnerFile(path: enrollmentTokenPath).replace(with: created.enrollmentToken + "\n", remedy: remedy)
            try OwnerFile(path: administratorTokenPath).replace(with: created.administratorToken + "\n", remedy: remedy)
        } catch { throw StoreError(.io, error.message) }
    }
}
