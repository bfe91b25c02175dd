import WireModel

/// How far rows have been brought into the form that new ones have. In memory: after a restart the walk begins anew
/// and passes what is converted.
struct Conversion {
    /// In what form the records of a file are. A row `form` of table `file_copy` has it; none means plain.
    enum Form: UInt8 {
        case plain = 0
        case sealed = 1
        /// A conversion is under way, or was left.
        case mixed = 2
    }

    /// A commit of a conversion, for tests of a kill after it.
    enum Step: CaseIterable {
        case rows, quarantine, links, keptRemoved, scrubbed, marker, finished
    }

    /// Whether the file may hold something of the other form.
    var isDue = false
    /// The number up to which rows of a table have the present form.
    var rows: [RecordTable: UInt64] = [:]
    /// The id up to which quarantined records have it.
    var quarantine: Int64 = 0
    /// A key that is gone keeps something from being opened.
    var isBlocked = false
}
