import CommandKit
import ControlSocket
import DataSampler
import LogStore
import TelemetryBasics

extension CommandError {
    /// Converts an error of the libraries into a command's error; `nil` for any other error.
    static func agent(_ error: any Error) -> CommandError? {
        switch error {
        case let error as DataSamplerError: CommandError(error)
        case let error as ControlError: CommandError(error)
        case let error as LogStoreError: CommandError(error)
        default: nil
        }
    }

    init(_ error: DataSamplerError) {
        let code: Code =
            switch error.code {
            case .invalidConfiguration, .invalidEvent, .invalidArgument, .invalidModule: .usage
            case .queueInUse, .queueFull, .queueInterrupted, .notRunning, .profileNotChecked, .collector, .wipePending,
                .networkNotAllowed, .notDelivered, .keyUnavailable:
                .tryAgain
            default: .failed
            }
        self.init(code, error.message, cause: error)
    }

    /// Whether the same succeeds once there is room on the disk.
    var isForWantOfRoom: Bool {
        switch cause {
        case let error as DataSamplerError: error.code == .queueFull
        case let error as FileError: error.isDiskFull
        default: false
        }
    }

    init(_ error: LogStoreError) {
        let code: Code =
            switch error.code {
            case .invalid: .usage
            case .busy, .diskFull: .tryAgain
            default: .failed
            }
        self.init(code, error.message, cause: error)
    }
}
