/// Why a source cannot be read, in words that name the remedy.
struct IntakeFailure: Error, Equatable, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
