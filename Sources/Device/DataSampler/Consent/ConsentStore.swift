import FoundationEssentials

/// `<data>/consent.json`: what was decided and when. It is on synced disk before any record moves because of it.
///
/// The queue holds a copy of the file, so that a file that is damaged or gone does not lose a person's word. Neither
/// names a machine: a decision that was copied to another machine holds there until somebody decides.
///
/// **How it is written.** A stricter decision goes into the copy first, a looser one into the file first. So at no
/// moment is the copy less strict than the file: after a kill between the two writes the stricter one is in the copy,
/// whatever becomes of the file. Each decision has a later time than the one before it, also where the wall clock has
/// gone back.
///
/// **How it is read.** Where file and copy disagree, the later of the two counts, and both say so from then on. But a
/// denial in the file counts whatever the copy says: somebody may have restored the file from a backup.
struct ConsentStore: Sendable {
    static let name = "consent.json"
    private static let undecided = Content(consent: .pending, decided: 0)

    struct Content: Codable, Equatable, Sendable {
        var consent: DataSamplerConsent
        /// The device's wall clock, microseconds since 1970; later than the decision before.
        var decided: Int64
    }

    private let file: StateFile<Content>
    private let queue: (any ConsentQueue)?

    /// - Parameter queue: keeps the copy; `nil`: the file alone is looked at.
    init(directory: String, queue: (any ConsentQueue)? = nil) {
        file = StateFile(directory: directory, name: Self.name)
        self.queue = queue
    }

    /// The decision; `initial` where nothing was decided yet.
    ///
    /// A damaged file is quarantined. Without a copy it then counts as undecided, whatever the configuration says:
    /// somebody had said something, and what it was is no longer known.
    ///
    /// - Parameter report: is informed of a file that was quarantined or made anew, and of a copy that could not be
    ///   kept.
    func load(
        initial: DataSamplerConsent, report: (DataSamplerNotice) -> Void = { _ in }
    ) throws(DataSamplerError) -> DataSamplerConsent {
        var damage: DataSamplerError?
        var written: Content?
        do { written = try file.load() } catch  where error.code == .storageDamaged { damage = error }
        let copy = try readCopy()
        guard let decision = Self.decision(written, copy) ?? (damage == nil ? nil : Self.undecided) else {
            return initial
        }
        // Before the file is touched: a kill must not leave neither.
        if decision != copy {
            do throws(DataSamplerError) { try keepCopy(decision) } catch {
                // Without the copy a damaged file is the only trace of a decision: it stays, and nothing starts.
                guard decision == written else { throw error }
                // What the file says has held already. It is tried again with the next start or decision.
                report(DataSamplerNotice(.consentNotCopied, error.message, ["file": Self.name]))
            }
        }
        guard decision != written else { return decision.consent }
        if let damage {
            try file.file.keepAsDamaged()
            report(DataSamplerNotice(.fileSetAside, damage.message, ["file": Self.name]))
        }
        do throws(DataSamplerError) { try file.save(decision) } catch {
            // The copy says the same. The file is written by the next start or decision.
            guard queue != nil else { throw error }
            report(DataSamplerNotice(.consentNotCopied, error.message, ["file": Self.name]))
            return decision.consent
        }
        if decision == copy {
            let what = damage != nil ? "was damaged" : written == nil ? "was missing" : "held an earlier decision"
            report(
                DataSamplerNotice(
                    .consentRestored, "\(file.file.path) \(what): it was restored from the copy in the queue",
                    ["file": Self.name]))
        }
        return decision.consent
    }

    /// The decision; `nil` where nothing was decided yet. Changes nothing.
    /// - Parameter bytes: the copy, from whoever holds the queue; `nil`: there is none.
    /// - Throws: `storageDamaged` where the file is damaged and there is no copy.
    func decided(copy bytes: Data?) throws(DataSamplerError) -> DataSamplerConsent? {
        let copy = try bytes.map { bytes throws(DataSamplerError) in try content(ofCopy: bytes) }
        do { return Self.decision(try file.load(), copy)?.consent } catch {
            guard error.code == .storageDamaged, let copy else { throw error }
            return copy.consent
        }
    }

    /// Returns once it is on synced disk, in the file and in the copy. A stricter decision may be in the copy alone,
    /// which is the later of the two then: where a full disk has no room for the file, the person's word holds all the
    /// same.
    ///
    /// - Throws: `storage`. Then it does not hold.
    func save(_ consent: DataSamplerConsent, wallTime: Int64) throws(DataSamplerError) {
        // One that was damaged meanwhile is replaced.
        let written = try? file.load()
        let former = [written, try readCopy()].compactMap { $0 }
        let decision = Content(
            consent: consent, decided: max(wallTime, former.map { $0.decided &+ 1 }.max() ?? wallTime))
        let strictest = former.map(\.consent.strictness).max() ?? DataSamplerConsent.granted.strictness
        if consent == .denied || consent.strictness > strictest {
            try keepCopy(decision)
            do throws(DataSamplerError) { try file.save(decision) } catch {
                guard queue != nil else { throw error }
            }
            return
        }
        try file.save(decision)
        do throws(DataSamplerError) { try keepCopy(decision) } catch {
            // Where this fails as well, the next start finds the file's later decision.
            if let written { try? file.save(written) } else { try? file.file.remove() }
            throw error
        }
    }

    private static func decision(_ written: Content?, _ copy: Content?) -> Content? {
        guard let written, let copy else { return written ?? copy }
        return written.consent == .denied || written.decided >= copy.decided ? written : copy
    }

    // MARK: - The copy

    /// `nil` where there is none.
    private func readCopy() throws(DataSamplerError) -> Content? {
        guard let bytes = try queue?.consentCopy() else { return nil }
        return try content(ofCopy: bytes)
    }

    /// A damaged copy says only that something was decided.
    private func content(ofCopy bytes: Data) throws(DataSamplerError) -> Content {
        do { return try file.decoded(bytes, from: "the copy of \(file.file.path) in the queue") } catch
            where error.code == .storageDamaged
        { return Self.undecided }
    }

    private func keepCopy(_ content: Content) throws(DataSamplerError) {
        guard let queue else { return }
        let bytes = try file.encoded(content)
        do throws(DataSamplerError) { try queue.keepConsentCopy(bytes) } catch {
            throw DataSamplerError(
                .storage, "the queue could not keep a copy of \(file.file.path): \(error.message)", cause: error)
        }
    }
}
