import RecordQueue

extension DataSamplerError {
    /// Passes a queue's error on: its message says what and where, its code says whether trying again can help.
    init(_ error: QueueError) {
        let code: Code =
            switch error.code {
            case .inUse: .queueInUse
            case .diskFull, .capReached, .bufferFull: .queueFull
            case .tooLarge: .invalidEvent
            case .closed: .notRunning
            case .corrupt, .newerVersion, .io, .invalid, .tooSoon: .queue
            }
        self.init(code, error.message, cause: error)
    }
}
