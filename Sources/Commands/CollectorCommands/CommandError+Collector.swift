import Collector
import CollectorStore
import CommandKit
import Glibc
import NIOCore

extension CommandError {
    /// What to do about a record file that cannot be read.
    static let damageRemedy = """
        A running collector replaces a damaged file by itself within seconds, keeping what can be proved: start it, and look again.
        """

    /// The errors of the targets below as a command's; `nil`: it is none of theirs.
    static func collector(_ error: any Error) -> CommandError? {
        switch error {
        case let error as StoreError: CommandError(error)
        case let error as CollectorError:
            CommandError(error.code == .invalidConfiguration ? .usage : .failed, error.message)
        default: nil
        }
    }

    /// The store's error as a command's.
    init(_ error: StoreError) {
        switch error.code {
        case .inUse: self.init(.tryAgain, error.message)
        case .overloaded, .shuttingDown: self.init(.tryAgain, error.message)
        case .invalid, .notFound: self.init(.usage, error.message)
        default: self.init(.failed, error.message)
        }
    }

    /// What the server could not do on an address.
    init(serving address: ListenAddress, _ error: any Error) {
        if let error = error as? StoreError {
            self.init(error)
        } else if let error = error as? IOError, error.errnoCode == EADDRINUSE {
            self.init(
                .tryAgain,
                "\(address) is in use. End the program that listens there, or choose another port with --listen.")
        } else if let error = error as? IOError, error.errnoCode == EACCES || error.errnoCode == EADDRNOTAVAIL {
            self.init(
                .usage,
                "Listening on \(address) is not possible: \(String(cString: strerror(error.errnoCode))). Choose another --listen."
            )
        } else if error is SocketAddressError {
            self.init(.usage, "\(address) is not an address of this machine. Choose another --listen.")
        } else {
            self.init(.failed, "Serving on \(address) failed: \(error)")
        }
    }
}
