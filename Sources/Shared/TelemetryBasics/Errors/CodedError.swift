/// The one shape of an error: a code to decide by, a message for people, and the cause.
///
/// Each target has one such type, so that its functions can name it in `throws(...)`; the type adds its codes and how
/// it converts the errors of the targets below.
package protocol CodedError: Error, Sendable, CustomStringConvertible {
    associatedtype Code: Sendable

    /// The code by which a program decides.
    var code: Code { get }
    /// The text for people: what failed, on what, with which numbers, and the remedy; no data of a person.
    var message: String { get }
}

extension CodedError {
    package var description: String { message }
}

extension CodedError where Code: RawRepresentable<String> {
    package var description: String { "\(code.rawValue): \(message)" }
}

/// The code of an error that says only what its reader can do.
package enum FailureCode: Sendable {
    /// The request is not valid: ask for something else.
    case usage
    /// The same may succeed later.
    case tryAgain
    case failed
}

/// An error that can name a file that could not be used.
package protocol FileFailure: Error {
    init(_ error: FileError)
}
