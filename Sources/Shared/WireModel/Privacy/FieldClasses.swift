/// The catalog: every field of every message that a device sends, with its privacy class.
///
/// Bodies of records go through ``PrivacyFilter`` by it. The other messages (enrollment, batches, closes, uploads) are
/// here so that no field of theirs is sent without somebody having decided on its class.
package enum FieldClasses {
    /// Messages that leave the device as they are, each with all messages inside it.
    package static let requests = [
        enrollRequest, rotateRequest, batchRequest, record, closeRequest, uploadManifest, completeUpload,
    ]

    /// The message that the body of a record of this kind holds; `nil` for kinds this version does not make.
    package static func body(of kind: WireRecordKind) -> MessageFields? {
        switch kind {
        case .beacon: beacon
        case .commandResult: commandResult
        case .event: event
        case .sampleSystem: systemSample
        case .sampleAnalytics: analyticsSample
        case .sampleNetworkData: networkDataSample
        case .sampleNetworkAdapter: networkAdapterSample
        case .sampleWlan: wlanSample
        case .sampleGps: gpsSample
        case .sampleCustom: customSample
        case .unspecified, .UNRECOGNIZED: nil
        }
    }
}

extension FieldClasses {
    private static let finding = MessageFields(
        "Finding", [.technical(1, "detector"), .technical(2, "verdict"), .personal(3, "evidence", .detail, .text)])

    private static let ruleResult = MessageFields(
        "RuleResult",
        [
            .technical(1, "rule"), .technical(2, "state"), .technical(3, "actual"), .technical(4, "expected"),
            .technical(5, "action"),
        ])

    // An address of the app at its push service, of no use but to reach it; an app that wants none sent sets none.
    private static let pushToken = MessageFields("PushToken", [.technical(1, "token"), .technical(2, "cleared")])

    static let location = MessageFields(
        "Location",
        [
            .personal(1, "latitude", .position, .degrees), .personal(2, "longitude", .position, .degrees),
            .personal(3, "altitude_meters", .position, .figure), .personal(4, "accuracy_meters", .position, .figure),
            .technical(5, "time"),
        ])

    static let power = MessageFields(
        "Power",
        [
            .technical(1, "external_power"), .technical(2, "battery_level"), .technical(3, "state"),
            .technical(4, "cycle_count"),
            .technical(5, "health"),
        ])

    private static let slowdown = MessageFields(
        "Slowdown", [.technical(1, "budget"), .technical(2, "factor"), .technical(3, "used"), .technical(4, "allowed")])

    static let selfCost = MessageFields(
        "SelfCost",
        [
            .technical(1, "cpu_time_microseconds"), .technical(2, "resident_bytes"), .technical(3, "written_bytes"),
            .technical(4, "open_files"), .technical(5, "uptime_microseconds"), .technical(6, "sent_bytes"),
            .technical(7, "queue_written_bytes"), .technical(8, "records_made"), .technical(9, "records_lost"),
            .message(10, "slowdown", slowdown),
        ])

    private static let streamStatus = MessageFields(
        "StreamStatus",
        [
            .technical(1, "stream"), .technical(2, "waiting"), .technical(3, "waiting_bytes"),
            .technical(4, "oldest_age_seconds"),
            .technical(5, "dropped"), .technical(6, "acknowledged"), .message(7, "losses", dropCount),
            .technical(8, "rejected"),
        ])

    static let beacon = MessageFields(
        "Beacon",
        [
            .technical(1, "trigger"), .personal(2, "device_name", .deviceName, .hostName),
            .technical(3, "organization_group"),
            .technical(4, "application"), .technical(5, "application_version"), .technical(6, "library_version"),
            .message(7, "operating_system", operatingSystem), .personal(8, "user_email", .user, .email),
            .personal(9, "user_full_name", .user, .personName), .personal(10, "user_display_name", .user, .personName),
            .technical(11, "enrollment"), .technical(12, "device_compliance"), .technical(13, "application_compliance"),
            .technical(14, "compromised"), .message(15, "findings", finding), .technical(16, "managed"),
            .message(17, "push_token", pushToken), .technical(18, "do_not_disturb"),
            .message(19, "location", location, .position),
            .message(20, "power", power), .technical(21, "network"), .technical(22, "profile_revision"),
            .technical(23, "next_beacon_seconds"), .message(24, "queue", streamStatus), .message(25, "self", selfCost),
            .message(26, "rules", ruleResult), .technical(27, "process_start_time"), .technical(28, "model"),
            .technical(29, "uptime_seconds"), .technical(30, "beacon_sequence"), .technical(31, "consent"),
            .technical(32, "metered"),
            .technical(33, "roaming"), .message(34, "slowdown", slowdown), .technical(35, "telemetry_disabled"),
            .technical(36, "modules"), .technical(37, "profile_findings"),
        ])

    static let systemIdentity = MessageFields(
        "SystemIdentity",
        [
            .personal(1, "host_name", .deviceName, .hostName), .message(2, "operating_system", operatingSystem),
            .technical(3, "model"),
            .technical(4, "vendor"), .technical(5, "cpu_model"), .technical(6, "logical_cores"),
            .technical(7, "boot_id"),
            .technical(8, "boot_time"),
        ])

    private static let deviceInformation = MessageFields(
        "DeviceInformation",
        [.message(1, "identity", systemIdentity), .technical(2, "modules"), .map(3, "attributes", .detail)])

    static let commandResult = MessageFields(
        "CommandResult",
        [
            .technical(1, "command_id"), .technical(2, "state"), .personal(3, "detail", .detail, .text),
            .technical(4, "progress"),
            .message(10, "device_information", deviceInformation),
        ])
}

extension FieldClasses {
    private static let cpuShares = MessageFields(
        "CPUShares",
        [
            .technical(1, "user"), .technical(2, "nice"), .technical(3, "system"), .technical(4, "idle"),
            .technical(5, "io_wait"),
            .technical(6, "irq"), .technical(7, "soft_irq"), .technical(8, "steal"), .technical(9, "number"),
        ])

    private static let loadAverage = MessageFields(
        "LoadAverage", [.technical(1, "one_minute"), .technical(2, "five_minutes"), .technical(3, "fifteen_minutes")])

    private static let activity = MessageFields(
        "Activity",
        [
            .technical(1, "context_switches"), .technical(2, "interrupts"), .technical(3, "processes_created"),
            .technical(4, "running"),
            .technical(5, "blocked"),
        ])

    private static let pressureLine = MessageFields(
        "PressureLine",
        [
            .technical(1, "average_10_seconds"), .technical(2, "average_60_seconds"),
            .technical(3, "average_300_seconds"),
            .technical(4, "total_microseconds"),
        ])

    private static let pressureResource = MessageFields(
        "PressureResource", [.message(1, "some", pressureLine), .message(2, "full", pressureLine)])

    private static let pressure = MessageFields(
        "Pressure",
        [
            .message(1, "cpu", pressureResource), .message(2, "memory", pressureResource),
            .message(3, "io", pressureResource),
        ])

    private static let memory = MessageFields(
        "Memory",
        [
            .technical(1, "total"), .technical(2, "available"), .technical(3, "free"), .technical(4, "buffers"),
            .technical(5, "cached"),
            .technical(6, "dirty"), .technical(7, "slab"), .technical(8, "swap_total"), .technical(9, "swap_free"),
        ])

    private static let fileSystem = MessageFields(
        "FileSystem",
        [
            // Removable media are mounted under the name of the person who put them in.
            .personal(1, "mount_point", .path, .path), .technical(2, "type"), .personal(3, "device", .path, .path),
            .technical(4, "size"),
            .technical(5, "used"), .technical(6, "available"), .technical(7, "inodes"), .technical(8, "inodes_free"),
            .technical(9, "read_only"),
        ])

    private static let blockDevice = MessageFields(
        "BlockDevice",
        [
            .technical(1, "name"), .technical(2, "reads"), .technical(3, "writes"), .technical(4, "read_bytes"),
            .technical(5, "written_bytes"), .technical(6, "busy_microseconds"),
        ])

    private static let temperature = MessageFields(
        "Temperature", [.technical(1, "sensor"), .technical(2, "millidegrees")])

    static let systemSample = MessageFields(
        "SystemSample",
        [
            .message(1, "identity", systemIdentity), .technical(2, "uptime_seconds"),
            .technical(3, "interval_microseconds"),
            .message(4, "cpu", cpuShares), .message(5, "cores", cpuShares), .message(6, "load", loadAverage),
            .message(7, "activity", activity), .message(8, "pressure", pressure), .message(9, "memory", memory),
            .message(10, "file_systems", fileSystem), .message(11, "block_devices", blockDevice),
            .message(12, "power", power),
            .message(13, "temperatures", temperature), .message(14, "self", selfCost),
        ])

    static let analyticsSample = MessageFields(
        "AnalyticsSample",
        [
            .technical(1, "launches"), .technical(2, "sessions"), .technical(3, "use_microseconds"),
            .technical(4, "events_recorded"),
            .technical(5, "events_sent"), .technical(6, "events_held"), .technical(7, "events_dropped"),
            .technical(8, "interval_microseconds"),
        ])
}

extension FieldClasses {
    private static let interfaceCounters = MessageFields(
        "InterfaceCounters",
        [
            .technical(1, "received_bytes"), .technical(2, "sent_bytes"), .technical(3, "received_packets"),
            .technical(4, "sent_packets"),
            .technical(5, "received_errors"), .technical(6, "sent_errors"), .technical(7, "received_drops"),
            .technical(8, "sent_drops"),
        ])

    private static let interfaceData = MessageFields(
        "InterfaceData",
        [
            .personal(1, "name", .mac, .interfaceName), .technical(2, "class"), .message(3, "delta", interfaceCounters),
            .message(4, "total", interfaceCounters),
        ])

    private static let networkClassData = MessageFields(
        "NetworkClassData",
        [.technical(1, "class"), .message(2, "delta", interfaceCounters), .message(3, "total", interfaceCounters)])

    static let networkDataSample = MessageFields(
        "NetworkDataSample",
        [
            .technical(1, "interval_microseconds"), .message(2, "classes", networkClassData),
            .message(3, "interfaces", interfaceData),
            .technical(4, "tcp_active_opens"), .technical(5, "tcp_passive_opens"), .technical(6, "tcp_resets_sent"),
            .technical(7, "tcp_resets_received"), .technical(8, "tcp_retransmits"), .technical(9, "tcp_established"),
            .technical(10, "udp_errors"), .technical(11, "sockets_in_use"), .technical(12, "roaming"),
        ])

    private static let interfaceAddress = MessageFields(
        "InterfaceAddress",
        [.personal(1, "address", .ipAddress, .ipAddress), .technical(2, "prefix_length"), .technical(3, "scope")])

    private static let networkAdapter = MessageFields(
        "NetworkAdapter",
        [
            .personal(1, "name", .mac, .interfaceName), .technical(2, "index"), .technical(3, "type"),
            .technical(4, "driver"),
            .personal(5, "mac", .mac, .macAddress), .technical(6, "mtu"), .technical(7, "operational_state"),
            .technical(8, "carrier_changes"), .technical(9, "speed_megabits"), .technical(10, "duplex"),
            .message(11, "addresses", interfaceAddress), .technical(12, "class"),
        ])

    static let networkAdapterSample = MessageFields(
        "NetworkAdapterSample",
        [
            .message(1, "adapters", networkAdapter), .personal(2, "default_gateways", .ipAddress, .ipAddress),
            .personal(3, "dns_servers", .ipAddress, .ipAddress),
        ])

    private static let wlanInterface = MessageFields(
        "WLANInterface",
        [
            .personal(1, "name", .mac, .interfaceName), .personal(2, "ssid", .ssid, .text),
            .personal(3, "bssid", .bssid, .macAddress),
            .technical(4, "frequency_megahertz"), .technical(5, "channel"), .technical(6, "width_megahertz"),
            .technical(7, "signal_decibel_milliwatts"), .technical(8, "noise_decibel_milliwatts"),
            .technical(9, "transmit_rate_kilobits"), .technical(10, "receive_rate_kilobits"),
            .technical(11, "transmit_retries"),
            .technical(12, "transmit_failures"), .technical(13, "beacon_losses"), .technical(14, "connected_seconds"),
            .technical(15, "security"),
        ])

    static let wlanSample = MessageFields("WLANSample", [.message(1, "interfaces", wlanInterface)])

    static let gpsSample = MessageFields(
        "GPSSample",
        [
            .message(1, "location", location, .position), .personal(2, "speed_meters_per_second", .position, .figure),
            .personal(3, "course_degrees", .position, .figure), .technical(4, "fix"),
            .technical(5, "satellites_visible"),
            .technical(6, "satellites_used"), .personal(7, "vertical_accuracy_meters", .position, .figure),
        ])
}

extension FieldClasses {
    private static let eventValue = MessageFields(
        "Value",
        [
            .inherited(1, "text", .text), .inherited(2, "integer", .roundedInteger),
            .inherited(3, "real", .roundedReal),
            .inherited(4, "boolean", .flag), .inherited(5, "date", .date),
        ])

    // Figures of the program's own; only words can be a person's.
    private static let measurementValue = MessageFields(
        "Value",
        [
            .personal(1, "text", .custom, .text), .technical(2, "integer"), .technical(3, "real"),
            .technical(4, "boolean"),
            .technical(5, "date"),
        ])

    static let event = MessageFields(
        "Event",
        [
            .technical(1, "type"), .technical(2, "name"), .message(3, "value", eventValue, .event),
            .map(4, "attributes", of: eventValue, .event), .technical(5, "session_id"), .technical(6, "succeeded"),
            .technical(7, "duration_microseconds"),
        ])

    private static let measurement = MessageFields(
        "Measurement",
        [
            .technical(1, "name"), .technical(2, "unit"), .map(3, "attributes", .custom),
            .message(4, "value", measurementValue),
        ])

    static let customSample = MessageFields("CustomSample", [.message(1, "measurements", measurement)])
}

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
            .technical(1, "produced"), .technical(2, "waiting"), .technical(3, "apart"),
            .message(4, "dropped", dropCount),
            .message(5, "dropped_unnumbered", dropCount),
        ])

    private static let batchPart = MessageFields(
        "BatchPart",
        [
            .technical(1, "epoch"), .technical(2, "stream"), .technical(3, "first"), .technical(4, "last"),
            .technical(5, "prior_link"),
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
            .technical(1, "number"), .technical(2, "kind"), .technical(3, "module"), .technical(4, "wall_time"),
            .technical(5, "boot_id"),
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

    static let closeRequest = MessageFields(
        "CloseRequest", [.technical(1, "epoch"), .message(2, "streams", closeStream)])

    // What logs hold is scrubbed where it is written; the manifest counts it, and names files after the device.
    private static let uploadChunk = MessageFields(
        "UploadChunk",
        [
            .technical(1, "number"), .technical(2, "first_line"), .technical(3, "last_line"),
            .technical(4, "raw_bytes"),
            .technical(5, "raw_digest"), .personal(6, "file_name", .deviceName, .text), .technical(7, "first_time"),
            .technical(8, "last_time"), .technical(9, "level_lines"), .technical(10, "ring"), .technical(11, "type"),
        ])

    /// Words of who asked for the log, or the device's own.
    private static let logSelection = MessageFields(
        "LogSelection",
        [
            .technical(1, "type"), .technical(2, "level"), .technical(3, "since"), .technical(4, "until"),
            .technical(5, "categories"),
            .technical(6, "text"),
        ])

    static let uploadManifest = MessageFields(
        "UploadManifest",
        [
            .technical(1, "upload_id"), .technical(2, "application"), .technical(3, "type"), .technical(4, "level"),
            .technical(5, "command_id"), .message(6, "chunks", uploadChunk), .technical(7, "created"),
            .technical(8, "log_epoch"),
            .message(9, "selection", logSelection),
        ])

    private static let goneChunk = MessageFields("GoneChunk", [.technical(1, "number"), .technical(2, "reason")])

    static let completeUpload = MessageFields("CompleteUpload", [.message(1, "gone", goneChunk)])
}
