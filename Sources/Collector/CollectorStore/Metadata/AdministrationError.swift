import WireModel

/// What an administrator could not do.
package enum AdministrationError: Error, Equatable, Sendable {
    /// What was named is not there, or another organization's.
    case notFound(String)
    /// It is more than the actor's own token allows, and why.
    case forbidden(String)
    /// No administrator would be left.
    case lastAdministrator
    case store(StoreError)
}

extension StoreError {
    /// For callers that need no rights of their own: the command line.
    init(_ error: AdministrationError) {
        switch error {
        case .notFound(let message): self.init(.notFound, message)
        case .forbidden(let message): self.init(.invalid, message)
        case .lastAdministrator: self.init(.conflict, "no administrator would be left.")
        case .store(let error): self = error
        }
    }
}
