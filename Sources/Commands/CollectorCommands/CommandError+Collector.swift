import Collector
import CommandKit
import Glibc
import NIOCore
import RecordStore

extension CommandError {
    /// The remedy if a record file cannot be read.
    static let damageRemedy = """
        A running collector repairs damaged files within seconds and keeps the records that it can prove: start it, \
        then try again.
        """

    /// Converts an error of the libraries into a command's error; `nil` for any other error.
    static func collector(_ error: any Error) -> CommandError? {
        switch error {
        case let error as StoreError: CommandError(error)
        case let error as CollectorError:
            CommandError(error.code == .invalidConfiguration ? .usage : .failed, error.message)
        default: nil
        }
    }

    init(_ error: StoreError) {
        switch error.code {
        case .inUse, .diskFull: self.init(.tryAgain, error.message)
        case .overloaded, .shuttingDown, .unavailable: self.init(.tryAgain, error.message)
        case .invalid, .notFound: self.init(.usage, error.message)
        default: self.init(.failed, error.message)
        }
    }

    /// Converts an error of serving on an address.
    init(serving address: ListenAddress, _ error: any Error) {
        if let error = error as? StoreError {
            self.init(error)
        } else if let error = error as? IOError, error.errnoCode == EADDRINUSE {
            self.init(
                .tryAgain,
                "\(address) is in use. End the program that listens on it, or choose another port with --listen.")
        } else if let error = error as? IOError, error.errnoCode == EACCES || error.errnoCode == EADDRNOTAVAIL {
            self.init(
                .usage,
                """
                The collector cannot listen on \(address): \(String(cString: strerror(error.errnoCode))). Choose \
                another --listen.
                """
            )
        } else if error is SocketAddressError {
            self.init(.usage, "\(address) is not an address of this machine. Choose another --listen.")
        } else {
            self.init(.failed, "Serving on \(address) failed: \(error)")
        }
    }
}
