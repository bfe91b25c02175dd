extension FieldClasses {
    private static let interfaceCounters = MessageFields(
        "InterfaceCounters",
        [
            .technical(1, "received_bytes"), .technical(2, "sent_bytes"), .technical(3, "received_packets"), .technical(4, "sent_packets"),
            .technical(5, "received_errors"), .technical(6, "sent_errors"), .technical(7, "received_drops"), .technical(8, "sent_drops"),
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
            .technical(1, "interval_microseconds"), .message(2, "classes", networkClassData), .message(3, "interfaces", interfaceData),
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
            .personal(1, "name", .mac, .interfaceName), .technical(2, "index"), .technical(3, "type"), .technical(4, "driver"),
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
            .personal(1, "name", .mac, .interfaceName), .personal(2, "ssid", .ssid, .text), .personal(3, "bssid", .bssid, .macAddress),
            .technical(4, "frequency_megahertz"), .technical(5, "channel"), .technical(6, "width_megahertz"),
            .technical(7, "signal_decibel_milliwatts"), .technical(8, "noise_decibel_milliwatts"),
            .technical(9, "transmit_rate_kilobits"), .technical(10, "receive_rate_kilobits"), .technical(11, "transmit_retries"),
            .technical(12, "transmit_failures"), .technical(13, "beacon_losses"), .technical(14, "connected_seconds"),
            .technical(15, "security"),
        ])

    static let wlanSample = MessageFields("WLANSample", [.message(1, "interfaces", wlanInterface)])

    static let gpsSample = MessageFields(
        "GPSSample",
        [
            .message(1, "location", location, .position), .personal(2, "speed_meters_per_second", .position, .figure),
            .personal(3, "course_degrees", .position, .figure), .technical(4, "fix"), .technical(5, "satellites_visible"),
            .technical(6, "satellites_used"), .personal(7, "vertical_accuracy_meters", .position, .figure),
        ])
}
