import RecordQueue

/// What happened in histories, so that a test can say that they speak of it.
struct EpochSightings {
    var ends: [EpochEnd: Int] = [:]
    var moved: UInt64 = 0
    /// An epoch was given up on an image that was brought back, before it was compared.
    var givenUpRestored = 0
    /// A kept epoch was given up after its close had been sent.
    var givenUpAfterClose = 0
    /// Consent was denied.
    var denials = 0

    mutating func add(_ other: EpochSightings) {
        ends.merge(other.ends, uniquingKeysWith: +)
        moved += other.moved
        givenUpRestored += other.givenUpRestored
        givenUpAfterClose += other.givenUpAfterClose
        denials += other.denials
    }

    /// In words, what was never seen.
    var missing: [String] {
        var missing = [EpochEnd.restored, .clone, .wiped, .unenrolled, .reboundDrop].filter { ends[$0] == nil }.map(
            \.rawValue)
        if moved == 0 { missing.append("moved records") }
        if givenUpRestored == 0 { missing.append("a restored image that is given up") }
        if givenUpAfterClose == 0 { missing.append("a kept epoch that is given up after its close was sent") }
        if denials == 0 { missing.append("a denial of consent") }
        return missing
    }
}
