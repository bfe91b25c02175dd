import CollectorClient
import CommandKit
import ControlSocket
import LogStore

extension CommandError {
    /// The errors of the targets below as a command's; `nil`: it is none of theirs.
    static func log(_ error: any Error) -> CommandError? {
        switch error {
        case let error as LogStoreError: CommandError(error)
        case let error as CollectorClientError: CommandError(error)
        case let error as ControlError: CommandError(error)
        default: nil
        }
    }

    /// Sorts the store's errors by whether trying again can help.
    init(_ error: LogStoreError) {
        let code: Code =
            switch error.code {
            case .invalid: .usage
            case .busy, .diskFull, .networkNotAllowed, .locked: .tryAgain
            default: .failed
            }
        self.init(code, error.message, cause: error)
    }
}
