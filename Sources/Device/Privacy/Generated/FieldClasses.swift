// Written by Tools/generate-wire from Schemas/wire/v1. Do not edit.
import WireModel

/// All fields of all messages that a device sends, with their privacy classes.
///
/// ``PrivacyFilter`` uses it for the bodies of records. Other messages (enrollment, batches, closes, uploads) are
/// listed too: the schema does not compile to tables before somebody decided on the class of a field.
enum FieldClasses {
    /// Messages that leave the device unfiltered, with all messages inside them.
    static let requests = [
        record, batchRequest, closeRequest, enrollRequest, rotateRequest, setDoNotDisturb, uploadManifest,
        completeUpload,
    ]

    /// The message in the body of a record of this kind; `nil` for kinds that this version does not make.
    static func body(of kind: WireRecordKind) -> MessageFields? {
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
        case .otlpContext: nil
        case .otlpLog: nil
        case .otlpMetrics: nil
        case .unspecified, .UNRECOGNIZED: nil
        }
    }

    static let record = MessageFields(
        "Record",
        .technical(
            1, "number", "kind", "module", "wall_time", "boot_id", "time_since_boot", "test", "application", "context"),
        .technical(15, "body"))

    static let gap = MessageFields("Gap", .technical(1, "first", "last", "reason", "link"))

    static let dropCount = MessageFields("DropCount", .technical(1, "reason", "count"))

    static let streamTotals = MessageFields(
        "StreamTotals", .technical(1, "produced", "waiting", "apart"), .message(4, "dropped", dropCount),
        .message(5, "dropped_unnumbered", dropCount))

    static let batchPart = MessageFields(
        "BatchPart", .technical(1, "epoch", "stream", "first", "last", "prior_link", "last_link"),
        .message(7, "gaps", gap), .message(8, "totals", streamTotals), .technical(9, "records"))

    static let batchRequest = MessageFields(
        "BatchRequest", .message(1, "parts", batchPart), .technical(2, "profile_revision", "expected_beacon_seconds"))

    static let chainPoint = MessageFields("ChainPoint", .technical(1, "number", "link"))

    static let closeStream = MessageFields(
        "CloseStream", .technical(1, "stream", "last", "reason"), .message(4, "points", chainPoint),
        .message(5, "totals", streamTotals))

    static let closeRequest = MessageFields("CloseRequest", .technical(1, "epoch"), .message(2, "streams", closeStream))

    static let operatingSystem = MessageFields(
        "OperatingSystem", .technical(1, "name", "distribution", "version", "kernel", "architecture"))

    static let enrollRequest = MessageFields(
        "EnrollRequest", .technical(1, "device_id", "previous_credential", "machine_hash"),
        .personal(4, "device_name", .deviceName, .hostName), .message(5, "operating_system", operatingSystem),
        .technical(
            6, "agent_version", "certificate_signing_request", "test", "application", "request_id", "wipe_signing_key"))

    static let rotateRequest = MessageFields("RotateRequest", .technical(1, "certificate_signing_request"))

    static let setDoNotDisturb = MessageFields("SetDoNotDisturb", .technical(1, "on", "request_id"))

    static let uploadChunk = MessageFields(
        "UploadChunk", .technical(1, "number", "first_line", "last_line", "raw_bytes", "raw_digest"),
        .personal(6, "file_name", .deviceName, .text),
        .technical(7, "first_time", "last_time", "level_lines", "ring", "type"))

    static let logSelection = MessageFields(
        "LogSelection", .technical(1, "type", "level", "since", "until", "categories", "text"))

    static let uploadManifest = MessageFields(
        "UploadManifest", .technical(1, "upload_id", "application", "type", "level", "command_id"),
        .message(6, "chunks", uploadChunk), .technical(7, "created", "log_epoch"),
        .message(9, "selection", logSelection))

    static let goneChunk = MessageFields("GoneChunk", .technical(1, "number", "reason"))

    static let completeUpload = MessageFields("CompleteUpload", .message(1, "gone", goneChunk))

    static let finding = MessageFields(
        "Finding", .technical(1, "detector", "verdict"), .personal(3, "evidence", .detail, .text))

    static let pushToken = MessageFields("PushToken", .technical(1, "token", "cleared"))

    static let location = MessageFields(
        "Location", .personal(1, "latitude", .position, .degrees), .personal(2, "longitude", .position, .degrees),
        .personal(3, "altitude_meters", .position, .figure), .personal(4, "accuracy_meters", .position, .figure),
        .technical(5, "time"))

    static let power = MessageFields(
        "Power", .technical(1, "external_power", "battery_level", "state", "cycle_count", "health"))

    static let streamStatus = MessageFields(
        "StreamStatus",
        .technical(1, "stream", "waiting", "waiting_bytes", "oldest_age_seconds", "dropped", "acknowledged"),
        .message(7, "losses", dropCount), .technical(8, "rejected"))

    static let slowdown = MessageFields("Slowdown", .technical(1, "budget", "factor", "used", "allowed"))

    static let selfCost = MessageFields(
        "SelfCost",
        .technical(
            1, "cpu_time_microseconds", "resident_bytes", "written_bytes", "open_files", "uptime_microseconds",
            "sent_bytes", "queue_written_bytes", "records_made", "records_lost"),
        .message(10, "slowdown", slowdown),
        .technical(11, "cpu_user_microseconds", "cpu_system_microseconds", "read_bytes"))

    static let ruleResult = MessageFields("RuleResult", .technical(1, "rule", "state", "actual", "expected", "action"))

    static let encryptionStatus = MessageFields("EncryptionStatus", .technical(1, "provider", "locked"))

    static let beacon = MessageFields(
        "Beacon", .technical(1, "trigger"), .personal(2, "device_name", .deviceName, .hostName),
        .technical(3, "organization_group", "application", "application_version", "library_version"),
        .message(7, "operating_system", operatingSystem), .personal(8, "user_email", .user, .email),
        .personal(9, "user_full_name", .user, .personName), .personal(10, "user_display_name", .user, .personName),
        .technical(11, "enrollment", "device_compliance", "application_compliance", "compromised"),
        .message(15, "findings", finding), .technical(16, "managed"), .message(17, "push_token", pushToken),
        .technical(18, "do_not_disturb"), .message(19, "location", location, .position), .message(20, "power", power),
        .technical(21, "network", "profile_revision", "next_beacon_seconds"), .message(24, "queue", streamStatus),
        .message(25, "self", selfCost), .message(26, "rules", ruleResult),
        .technical(
            27, "process_start_time", "model", "uptime_seconds", "beacon_sequence", "consent", "metered", "roaming"),
        .message(34, "slowdown", slowdown), .technical(35, "telemetry_disabled", "modules", "profile_findings"),
        .message(38, "encryption", encryptionStatus))

    static let systemIdentity = MessageFields(
        "SystemIdentity", .personal(1, "host_name", .deviceName, .hostName),
        .message(2, "operating_system", operatingSystem),
        .technical(3, "model", "vendor", "cpu_model", "logical_cores", "boot_id", "boot_time"))

    static let deviceInformation = MessageFields(
        "DeviceInformation", .message(1, "identity", systemIdentity), .technical(2, "modules"),
        .map(3, "attributes", .detail))

    static let commandResult = MessageFields(
        "CommandResult", .technical(1, "command_id", "state"), .personal(3, "detail", .detail, .text),
        .technical(4, "progress", "wipe_certificate"), .message(10, "device_information", deviceInformation))

    static let value = MessageFields(
        "Value", .inherited(1, "text", .text), .inherited(2, "integer", .roundedInteger),
        .inherited(3, "real", .roundedReal), .inherited(4, "boolean", .flag), .inherited(5, "date", .date))

    static let event = MessageFields(
        "Event", .technical(1, "type", "name"), .message(3, "value", value, .event),
        .map(4, "attributes", of: value, .event), .technical(5, "session_id", "succeeded", "duration_microseconds"))

    static let cpuShares = MessageFields(
        "CPUShares", .technical(1, "user", "nice", "system", "idle", "io_wait", "irq", "soft_irq", "steal", "number"))

    static let loadAverage = MessageFields(
        "LoadAverage", .technical(1, "one_minute", "five_minutes", "fifteen_minutes"))

    static let activity = MessageFields(
        "Activity",
        .technical(
            1, "context_switches", "interrupts", "processes_created", "running", "blocked",
            "processes_created_since_boot"))

    static let pressureLine = MessageFields(
        "PressureLine",
        .technical(1, "average_10_seconds", "average_60_seconds", "average_300_seconds", "total_microseconds"))

    static let pressureResource = MessageFields(
        "PressureResource", .message(1, "some", pressureLine), .message(2, "full", pressureLine))

    static let pressure = MessageFields(
        "Pressure", .message(1, "cpu", pressureResource), .message(2, "memory", pressureResource),
        .message(3, "io", pressureResource))

    static let memory = MessageFields(
        "Memory",
        .technical(
            1, "total", "available", "free", "buffers", "cached", "dirty", "slab", "swap_total", "swap_free", "used",
            "slab_reclaimable", "slab_unreclaimable", "swap_used"))

    static let fileSystem = MessageFields(
        "FileSystem", .personal(1, "mount_point", .path, .path), .technical(2, "type"),
        .personal(3, "device", .path, .path),
        .technical(4, "size", "used", "available", "inodes", "inodes_free", "read_only", "reserved"))

    static let blockDeviceTotals = MessageFields(
        "BlockDeviceTotals",
        .technical(
            1, "reads", "writes", "read_bytes", "written_bytes", "busy_milliseconds", "merged_reads", "merged_writes",
            "read_milliseconds", "write_milliseconds", "counted_microseconds"))

    static let blockDevice = MessageFields(
        "BlockDevice", .technical(1, "name", "reads", "writes", "read_bytes", "written_bytes", "busy_microseconds"),
        .message(7, "total", blockDeviceTotals), .technical(8, "size"))

    static let temperature = MessageFields("Temperature", .technical(1, "sensor", "millidegrees"))

    static let cpuTimes = MessageFields(
        "CPUTimes", .technical(1, "user", "nice", "system", "idle", "io_wait", "interrupt", "steal"))

    static let systemSample = MessageFields(
        "SystemSample", .message(1, "identity", systemIdentity),
        .technical(2, "uptime_seconds", "interval_microseconds"), .message(4, "cpu", cpuShares),
        .message(5, "cores", cpuShares), .message(6, "load", loadAverage), .message(7, "activity", activity),
        .message(8, "pressure", pressure), .message(9, "memory", memory), .message(10, "file_systems", fileSystem),
        .message(11, "block_devices", blockDevice), .message(12, "power", power),
        .message(13, "temperatures", temperature), .message(14, "self", selfCost), .message(15, "cpu_time", cpuTimes))

    static let analyticsSample = MessageFields(
        "AnalyticsSample",
        .technical(
            1, "launches", "sessions", "use_microseconds", "events_recorded", "events_sent", "events_held",
            "events_dropped", "interval_microseconds"))

    static let interfaceCounters = MessageFields(
        "InterfaceCounters",
        .technical(
            1, "received_bytes", "sent_bytes", "received_packets", "sent_packets", "received_errors", "sent_errors",
            "received_drops", "sent_drops"))

    static let networkClassData = MessageFields(
        "NetworkClassData", .technical(1, "class"), .message(2, "delta", interfaceCounters),
        .message(3, "total", interfaceCounters))

    static let interfaceData = MessageFields(
        "InterfaceData", .personal(1, "name", .mac, .interfaceName), .technical(2, "class"),
        .message(3, "delta", interfaceCounters), .message(4, "total", interfaceCounters),
        .technical(5, "counted_microseconds"))

    static let networkDataSample = MessageFields(
        "NetworkDataSample", .technical(1, "interval_microseconds"), .message(2, "classes", networkClassData),
        .message(3, "interfaces", interfaceData),
        .technical(
            4, "tcp_active_opens", "tcp_passive_opens", "tcp_resets_sent", "tcp_resets_received", "tcp_retransmits",
            "tcp_established", "udp_errors", "sockets_in_use", "roaming"))

    static let interfaceAddress = MessageFields(
        "InterfaceAddress", .personal(1, "address", .ipAddress, .ipAddress), .technical(2, "prefix_length", "scope"))

    static let networkAdapter = MessageFields(
        "NetworkAdapter", .personal(1, "name", .mac, .interfaceName), .technical(2, "index", "type", "driver"),
        .personal(5, "mac", .mac, .macAddress),
        .technical(6, "mtu", "operational_state", "carrier_changes", "speed_megabits", "duplex"),
        .message(11, "addresses", interfaceAddress), .technical(12, "class", "up"))

    static let networkAdapterSample = MessageFields(
        "NetworkAdapterSample", .message(1, "adapters", networkAdapter),
        .personal(2, "default_gateways", .ipAddress, .ipAddress), .personal(3, "dns_servers", .ipAddress, .ipAddress))

    static let wlanInterface = MessageFields(
        "WLANInterface", .personal(1, "name", .mac, .interfaceName), .personal(2, "ssid", .ssid, .text),
        .personal(3, "bssid", .bssid, .macAddress),
        .technical(
            4, "frequency_megahertz", "channel", "width_megahertz", "signal_decibel_milliwatts",
            "noise_decibel_milliwatts", "transmit_rate_kilobits", "receive_rate_kilobits", "transmit_retries",
            "transmit_failures", "beacon_losses", "connected_seconds", "security"))

    static let wlanSample = MessageFields("WLANSample", .message(1, "interfaces", wlanInterface))

    static let gpsSample = MessageFields(
        "GPSSample", .message(1, "location", location, .position),
        .personal(2, "speed_meters_per_second", .position, .figure), .personal(3, "course_degrees", .position, .figure),
        .technical(4, "fix", "satellites_visible", "satellites_used"),
        .personal(7, "vertical_accuracy_meters", .position, .figure))

    static let valueWithCustomText = MessageFields(
        "Value", .personal(1, "text", .custom, .text), .technical(2, "integer", "real", "boolean", "date"))

    static let measurement = MessageFields(
        "Measurement", .technical(1, "name", "unit"), .map(3, "attributes", .custom),
        .message(4, "value", valueWithCustomText))

    static let customSample = MessageFields("CustomSample", .message(1, "measurements", measurement))
}
