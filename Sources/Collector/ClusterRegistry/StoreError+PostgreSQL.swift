import PostgreSQL
import RecordStore

extension StoreError {
    /// The store's word for what PostgreSQL refused.
    ///
    /// A violated constraint is a defect, because the registry checks before it writes.
    init(_ error: PostgresError) {
        let code: Code =
            switch error.code {
            case .unavailable, .configuration, .unexpectedServer: .unavailable
            case .outcomeUnknown: .outcomeUnknown
            case .conflict: .overloaded
            case .constraint, .statement: .internalFault
            case .shutDown: .shuttingDown
            }
        self.init(code, "The registry: \(error.message)")
    }
}
