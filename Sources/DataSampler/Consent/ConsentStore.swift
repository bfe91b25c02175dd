import FoundationEssentials

/// `<data>/consent.json`: what was decided and when. It is on synced disk before any record moves because of it.
struct ConsentStore: Sendable {
    static let name = "consent.json"

    struct Content: Codable, Equatable, Sendable {
        var consent: DataSamplerConsent
        /// The device's wall clock, microseconds since 1970.
        var decided: Int64
    }

    private let file: StateFile<Content>

    init(directory: String) {
        file = StateFile(directory: directory, name: Self.name)
    }

    /// What was decided; `initial` where nothing was yet.
    ///
    /// A damaged file is set aside and counts as undecided, whatever the configuration says: somebody had said something, and what it was is
    /// no longer known.
    ///
    /// - Parameter damaged: is told of it.
    func load(initial: DataSamplerConsent, damaged: (DataSamplerError) -> Void = { _ in }) throws(DataSamplerError) -> DataSamplerConsent {
        var isDamaged = false
        let content = try file.loadOrSetAside { error in
            isDamaged = true
            damaged(error)
        }
        guard isDamaged else { return content?.consent ?? initial }
        try save(Content(consent: .pending, decided: 0))
        return .pending
    }

    /// What was decided; `nil` where nothing was yet. Changes nothing.
    func decided() throws(DataSamplerError) -> DataSamplerConsent? { try file.load()?.consent }

    /// Returns once it is on synced disk.
    func save(_ content: Content) throws(DataSamplerError) { try file.save(content) }
}
