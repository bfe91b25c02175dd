import ControlSocket
import DataSampler
import FoundationEssentials
import LogStore
import Transmitter
import WireModel

/// What a running agent answers to commands that are about logs.
struct LogControl: Sendable {
    let sampler: DataSampler

    func answer(_ control: WireControlLog) async throws(DataSamplerError) -> WireControlAnswer {
        var entries: [LogEntry] = []
        for line in control.lines {
            guard let entry = LogEntry(line) else {
                throw DataSamplerError(.invalidArgument, "a line's level is none this agent knows: update it. Nothing was logged")
            }
            entries.append(entry)
        }
        return try .json(try await sampler.deliverLogs(entries))
    }

    func answer(_ control: WireControlSendLogs) async throws(DataSamplerError) -> WireControlAnswer {
        try .json(try await sampler.sendLogs(control.request, whenAllowed: control.whenAllowed).map { LogUploadReport($0) })
    }

    func answer(_ control: WireControlLogUploads) async throws(DataSamplerError) -> WireControlAnswer {
        try .json(try await sampler.logUploads(control.ids).map { LogUploadReport($0) })
    }
}

extension LogEntry {
    /// `nil` where the level is none of ours.
    init?(_ line: WireControlLogLine) {
        guard let level = LogLevel(line.level) else { return nil }
        self.init(
            level, line.message, category: line.category, metadata: line.metadata, leftOutBytes: Int(clamping: line.leftOutBytes))
    }

    var wire: WireControlLogLine {
        var line = WireControlLogLine()
        line.level = level.wire
        line.category = category
        line.message = message
        line.metadata = metadata
        line.leftOutBytes = UInt64(leftOutBytes)
        return line
    }
}

extension LogUploadReport {
    init(_ upload: LogUpload) {
        let state: State =
            switch upload.phase {
            case .announcing, .sending, .completing: .underWay
            case .done: .done
            case .failed: .failed
            case .cancelled: .cancelled
            }
        self.init(
            id: UploadID(upload.id).map(\.description) ?? "", type: upload.isCrash ? LogType.crash.rawValue : LogType.application.rawValue,
            state: state, chunks: upload.chunkCount, sent: max(0, Int(upload.progress) * upload.chunkCount / 10_000 - upload.gone.count),
            gone: upload.gone.count, bytes: upload.rawBytes, detail: upload.detail)
    }
}
