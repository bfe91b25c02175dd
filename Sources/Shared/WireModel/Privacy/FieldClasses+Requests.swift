extension FieldClasses {
    static let operatingSystem = MessageFields(
        "OperatingSystem",
        [
            .technical(1, "name"), .technical(2, "distribution"), .technical(3, "version"), .technical(4, "kernel"),
            .technical(5, "architecture"),
        ])

    static let enrollRequest = MessageFields(
        "EnrollRequest",
        [
            .technical(1, "device_id"), .technical(2, "previous_credential"), .technical(3, "machine_hash"),
            .personal(4, "device_name", .deviceName, .hostName), .message(5, "operating_system", operatingSystem),
            .technical(6, "agent_version"), .technical(7, "certificate_signing_request"), .technical(8, "test"),
            .technical(9, "application"), .technical(10, "request_id"),
        ])

    static let rotateRequest = MessageFields("RotateRequest", [.technical(1, "certificate_signing_request")])

    private static let gap = MessageFields(
        "Gap", [.technical(1, "first"), .technical(2, "last"), .technical(3, "reason"), .technical(4, "link")])

    static let dropCount = MessageFields("DropCount", [.technical(1, "reason"), .technical(2, "count")])

    private static let streamTotals = MessageFields(
        "StreamTotals",
        [
            .technical(1, "produced"), .technical(2, "waiting"), .technical(3, "apart"), .message(4, "dropped", dropCount),
            .message(5, "dropped_unnumbered", dropCount),
        ])

    private static let batchPart = MessageFields(
        "BatchPart",
        [
            .technical(1, "epoch"), .technical(2, "stream"), .technical(3, "first"), .technical(4, "last"), .technical(5, "prior_link"),
            .technical(6, "last_link"), .message(7, "gaps", gap), .message(8, "totals", streamTotals),
            // Each a Record, whose body went through the filter before its bytes were made.
            .technical(9, "records"),
        ])

    static let batchRequest = MessageFields(
        "BatchRequest",
        [.message(1, "parts", batchPart), .technical(2, "profile_revision"), .technical(3, "expected_beacon_seconds")])

    static let record = MessageFields(
        "Record",
        [
            .technical(1, "number"), .technical(2, "kind"), .technical(3, "module"), .technical(4, "wall_time"), .technical(5, "boot_id"),
            .technical(6, "time_since_boot"), .technical(7, "test"), .technical(8, "application"),
            // By kind: see `body(of:)`.
            .technical(15, "body"),
        ])

    private static let chainPoint = MessageFields("ChainPoint", [.technical(1, "number"), .technical(2, "link")])

    private static let closeStream = MessageFields(
        "CloseStream",
        [
            .technical(1, "stream"), .technical(2, "last"), .technical(3, "reason"), .message(4, "points", chainPoint),
            .message(5, "totals", streamTotals),
        ])

    static let closeRequest = MessageFields("CloseRequest", [.technical(1, "epoch"), .message(2, "streams", closeStream)])

    // What logs hold is scrubbed where it is written; the manifest counts it, and names files after the device.
    private static let uploadChunk = MessageFields(
        "UploadChunk",
        [
            .technical(1, "number"), .technical(2, "first_line"), .technical(3, "last_line"), .technical(4, "raw_bytes"),
            .technical(5, "raw_digest"), .personal(6, "file_name", .deviceName, .text), .technical(7, "first_time"),
            .technical(8, "last_time"), .technical(9, "level_lines"), .technical(10, "ring"), .technical(11, "type"),
        ])

    /// Words of who asked for the log, or the device's own.
    private static let logSelection = MessageFields(
        "LogSelection",
        [
            .technical(1, "type"), .technical(2, "level"), .technical(3, "since"), .technical(4, "until"), .technical(5, "categories"),
            .technical(6, "text"),
        ])

    static let uploadManifest = MessageFields(
        "UploadManifest",
        [
            .technical(1, "upload_id"), .technical(2, "application"), .technical(3, "type"), .technical(4, "level"),
            .technical(5, "command_id"), .message(6, "chunks", uploadChunk), .technical(7, "created"), .technical(8, "log_epoch"),
            .message(9, "selection", logSelection),
        ])

    private static let goneChunk = MessageFields("GoneChunk", [.technical(1, "number"), .technical(2, "reason")])

    static let completeUpload = MessageFields("CompleteUpload", [.message(1, "gone", goneChunk)])
}
