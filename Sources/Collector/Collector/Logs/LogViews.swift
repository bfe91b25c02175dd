import CollectorAPI
import FoundationEssentials
import LogArchive
import TelemetryBasics
import WireModel

extension ChunkView {
    /// - Parameter names: of devices.
    init(_ row: ChunkRow, _ names: [DeviceID: String]) {
        self.init()
        id = String(row.id)
        device = row.device.description
        deviceName = names[row.device]
        organization = row.organization
        application = row.application.isEmpty ? nil : row.application
        type = row.type
        ring = row.ring ? true : nil
        test = row.test ? true : nil
        upload = row.upload.description
        number = row.number
        command = row.command?.description
        logEpoch = row.logEpoch.description
        fileName = row.fileName.isEmpty ? nil : row.fileName
        rawBytes = row.rawBytes
        storedBytes = row.storedBytes
        receivedAt = Timestamp.text(row.received)
        firstTime = row.times.map { Timestamp.text($0.lowerBound) }
        lastTime = row.times.map { Timestamp.text($0.upperBound) }
        firstLine = row.numbers?.lowerBound
        lastLine = row.numbers?.upperBound
        (levels.error, levels.warning) = (row.levels[0], row.levels[1])
        (levels.information, levels.verbose) = (row.levels[2], row.levels[3])
        otherLines = row.otherLines > 0 ? row.otherLines : nil
        sha256 = row.rawDigest.hexadecimal
    }
}

extension UploadView {
    init(_ row: UploadRow) {
        self.init()
        upload = row.upload.description
        application = row.application.isEmpty ? nil : row.application
        command = row.command?.description
        state = "\(row.phase)"
        startedAt = Timestamp.text(row.begun)
        expiresAt = Timestamp.text(row.expires)
        endedAt = row.ended.map(Timestamp.text)
        chunks = row.chunks
        storedChunks = row.storedChunks
        missingChunks = row.chunks - row.storedChunks - row.goneChunks - row.deletedChunks
        goneChunks = row.goneChunks
        deletedChunks = row.deletedChunks
        rawBytes = row.rawBytes
        storedRawBytes = row.storedRawBytes
    }
}

extension LogUsageView {
    init(_ row: LogUsageRow) {
        self.init()
        organization = row.organization
        application = row.application.isEmpty ? nil : row.application
        test = row.test ? true : nil
        chunks = row.chunks
        rawBytes = row.rawBytes
        quotaBytes = row.quotaBytes
    }
}

extension LogDeletionView {
    init(_ deletion: LogDeletion, isDone: Bool) {
        self.init()
        deleted = isDone
        chunks = deletion.chunks
        devices = deletion.devices
        lines = deletion.lines
        rawBytes = deletion.rawBytes
        confirm = isDone ? nil : deletion.confirmation
    }
}
