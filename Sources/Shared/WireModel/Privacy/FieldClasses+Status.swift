extension FieldClasses {
    private static let finding = MessageFields(
        "Finding", [.technical(1, "detector"), .technical(2, "verdict"), .personal(3, "evidence", .detail, .text)])

    private static let ruleResult = MessageFields(
        "RuleResult",
        [
            .technical(1, "rule"), .technical(2, "state"), .technical(3, "actual"), .technical(4, "expected"), .technical(5, "action"),
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
            .technical(1, "external_power"), .technical(2, "battery_level"), .technical(3, "state"), .technical(4, "cycle_count"),
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
            .technical(1, "stream"), .technical(2, "waiting"), .technical(3, "waiting_bytes"), .technical(4, "oldest_age_seconds"),
            .technical(5, "dropped"), .technical(6, "acknowledged"), .message(7, "losses", dropCount), .technical(8, "rejected"),
        ])

    static let beacon = MessageFields(
        "Beacon",
        [
            .technical(1, "trigger"), .personal(2, "device_name", .deviceName, .hostName), .technical(3, "organization_group"),
            .technical(4, "application"), .technical(5, "application_version"), .technical(6, "library_version"),
            .message(7, "operating_system", operatingSystem), .personal(8, "user_email", .user, .email),
            .personal(9, "user_full_name", .user, .personName), .personal(10, "user_display_name", .user, .personName),
            .technical(11, "enrollment"), .technical(12, "device_compliance"), .technical(13, "application_compliance"),
            .technical(14, "compromised"), .message(15, "findings", finding), .technical(16, "managed"),
            .message(17, "push_token", pushToken), .technical(18, "do_not_disturb"), .message(19, "location", location, .position),
            .message(20, "power", power), .technical(21, "network"), .technical(22, "profile_revision"),
            .technical(23, "next_beacon_seconds"), .message(24, "queue", streamStatus), .message(25, "self", selfCost),
            .message(26, "rules", ruleResult), .technical(27, "process_start_time"), .technical(28, "model"),
            .technical(29, "uptime_seconds"), .technical(30, "beacon_sequence"), .technical(31, "consent"), .technical(32, "metered"),
            .technical(33, "roaming"), .message(34, "slowdown", slowdown), .technical(35, "telemetry_disabled"),
            .technical(36, "modules"), .technical(37, "profile_findings"),
        ])

    static let systemIdentity = MessageFields(
        "SystemIdentity",
        [
            .personal(1, "host_name", .deviceName, .hostName), .message(2, "operating_system", operatingSystem), .technical(3, "model"),
            .technical(4, "vendor"), .technical(5, "cpu_model"), .technical(6, "logical_cores"), .technical(7, "boot_id"),
            .technical(8, "boot_time"),
        ])

    private static let deviceInformation = MessageFields(
        "DeviceInformation",
        [.message(1, "identity", systemIdentity), .technical(2, "modules"), .map(3, "attributes", .detail)])

    static let commandResult = MessageFields(
        "CommandResult",
        [
            .technical(1, "command_id"), .technical(2, "state"), .personal(3, "detail", .detail, .text), .technical(4, "progress"),
            .message(10, "device_information", deviceInformation),
        ])
}
