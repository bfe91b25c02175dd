import ArgumentParser
import Collector
import CollectorStore
import Foundation
import NIOCore
import WireModel

/// Why a command ended without having done what it was asked; ends the process with the exit code.
struct CommandError: Error, CustomStringConvertible, Equatable {
    /// The exit codes of every program of this package.
    enum Code: Int32, Sendable {
        case failed = 1
        /// Usage and configuration.
        case usage = 64
        /// Try again later: something else holds the data directory or the port.
        case tryAgainLater = 75
    }

    let code: Code
    /// What failed, on what, and what to do.
    let message: String

    /// What to do about a record file that cannot be read.
    static let damageRemedy = """
        A running collector replaces a damaged file by itself within seconds, keeping what can be proved: start it, and look again.
        """

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    var description: String { message }
}

extension CommandError {
    /// The store's error as a command's.
    init(_ error: StoreError) {
        switch error.code {
        case .inUse: self.init(.tryAgainLater, error.message)
        case .overloaded, .shuttingDown: self.init(.tryAgainLater, error.message)
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
                .tryAgainLater,
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

/// Runs a command's work and ends the process as the error says.
func perform(_ work: () async throws -> Void) async throws {
    do { try await work() } catch let error as CommandError {
        try end(error)
    } catch let error as StoreError {
        try end(CommandError(error))
    } catch let error as CollectorError {
        try end(CommandError(error.code == .invalidConfiguration ? .usage : .failed, error.message))
    }
}

private func end(_ error: CommandError) throws {
    FileHandle.standardError.write(
        Data("ws1collector: \(error.message.escapingControlCharacters(keeping: "\n\t"))\n".utf8))
    throw ExitCode(error.code.rawValue)
}
