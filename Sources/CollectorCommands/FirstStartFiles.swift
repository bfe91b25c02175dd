import CollectorStore

/// The two files that the first start leaves in the data directory, each with one token and a newline, for the owner alone (0600).
struct FirstStartFiles {
    let directory: String

    var enrollmentTokenPath: String { "\(directory)/enrollment-token" }
    var administratorTokenPath: String { "\(directory)/administrator-token" }

    /// An older file is of an older collector: its tokens are void.
    func write(_ created: FirstStart) throws(CommandError) {
        let remedy = "Mend that, then make tokens with `ws1collector token create --data \(directory)`."
        try OwnerFile(path: enrollmentTokenPath).replace(with: created.enrollmentToken + "\n", remedy: remedy)
        try OwnerFile(path: administratorTokenPath).replace(with: created.administratorToken + "\n", remedy: remedy)
    }
}
