import RecordStore
import WireModel

/// The errors of one kind of change; the store's own are one of them.
package protocol StoreRefusal: Error {
    static func store(_ error: StoreError) -> Self
}

/// An error of an administrator's action.
package enum AdministrationError: StoreRefusal, Equatable, Sendable {
    /// It does not exist, or belongs to another organization.
    case notFound(String)
    /// The actor's own token does not allow it; the text says why.
    case forbidden(String)
    /// No administrator would be left.
    case lastAdministrator
    case store(StoreError)
}

extension StoreError {
    /// Creates the error for callers that need no rights of their own: the command line.
    package init(_ error: AdministrationError) {
        switch error {
        case .notFound(let message): self.init(.notFound, message)
        case .forbidden(let message): self.init(.invalid, message)
        case .lastAdministrator: self.init(.conflict, "no administrator would be left.")
        case .store(let error): self = error
        }
    }
}
