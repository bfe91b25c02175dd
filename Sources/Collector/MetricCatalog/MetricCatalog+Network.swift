import WireModel

extension MetricCatalog {
    /// All metrics of a NetworkData sample.
    ///
    /// `system.network.*` are the increases since the previous sample, per interface. The totals since an interface was
    /// created, and the sums per class of network, have names of ours: under the same name they would count twice.
    package static let networkData: [CatalogEntry<WireNetworkDataSample>] =
        interfaceCounters + classCounters + [
            CatalogEntry(
                "interval_microseconds", "ws1.network.sample.interval", "s", .gauge,
                "Time since the previous NetworkData sample"
            ) { $0.hasIntervalMicroseconds ? Double($0.intervalMicroseconds) / 1_000_000 : nil },
            CatalogEntry(
                "tcp_active_opens", "ws1.network.tcp.opens", "{connection}", .deltaCounter,
                "TCP connections opened by either side", ["ws1.network.tcp.side": "active"]
            ) { $0.hasTcpActiveOpens ? Double($0.tcpActiveOpens) : nil },
            CatalogEntry(
                "tcp_passive_opens", "ws1.network.tcp.opens", "{connection}", .deltaCounter,
                "TCP connections opened by either side", ["ws1.network.tcp.side": "passive"]
            ) { $0.hasTcpPassiveOpens ? Double($0.tcpPassiveOpens) : nil },
            CatalogEntry(
                "tcp_resets_sent", "ws1.network.tcp.resets", "{reset}", .deltaCounter,
                "TCP resets sent, and connections ended by a reset", ["network.io.direction": "transmit"]
            ) { $0.hasTcpResetsSent ? Double($0.tcpResetsSent) : nil },
            CatalogEntry(
                "tcp_resets_received", "ws1.network.tcp.resets", "{reset}", .deltaCounter,
                "TCP resets sent, and connections ended by a reset", ["network.io.direction": "receive"]
            ) { $0.hasTcpResetsReceived ? Double($0.tcpResetsReceived) : nil },
            CatalogEntry(
                "tcp_retransmits", "ws1.network.tcp.retransmits", "{segment}", .deltaCounter, "TCP segments sent again"
            ) { $0.hasTcpRetransmits ? Double($0.tcpRetransmits) : nil },
            CatalogEntry(
                "tcp_established", "system.network.connection.count", "{connection}", .upDownCounter,
                "Connections in each state", ["network.transport": "tcp", "network.connection.state": "established"]
            ) { $0.hasTcpEstablished ? Double($0.tcpEstablished) : nil },
            CatalogEntry(
                "udp_errors", "ws1.network.udp.errors", "{datagram}", .deltaCounter,
                "UDP datagrams that could not be delivered"
            ) { $0.hasUdpErrors ? Double($0.udpErrors) : nil },
            CatalogEntry(
                "sockets_in_use", "ws1.network.sockets", "{socket}", .upDownCounter, "Sockets in use, of all families"
            ) { $0.hasSocketsInUse ? Double($0.socketsInUse) : nil },
            CatalogEntry(
                "roaming", "ws1.network.roaming", "1", .gauge, "1 while the modem roams, 0 while it is at home"
            ) {
                switch $0.roaming {
                case .yes: 1
                case .no: 0
                case .unknown, .UNRECOGNIZED: nil
                }
            },
        ]

    private typealias Counter = (
        field: String, name: String, unit: String, description: String, direction: String,
        read: @Sendable (WireInterfaceCounters) -> UInt64
    )

    private static let counters: [Counter] = [
        ("received_bytes", "io", "By", "Bytes transferred", "receive", { $0.receivedBytes }),
        ("sent_bytes", "io", "By", "Bytes transferred", "transmit", { $0.sentBytes }),
        ("received_packets", "packet.count", "{packet}", "Packets transferred", "receive", { $0.receivedPackets }),
        ("sent_packets", "packet.count", "{packet}", "Packets transferred", "transmit", { $0.sentPackets }),
        ("received_errors", "errors", "{error}", "Packets with errors", "receive", { $0.receivedErrors }),
        ("sent_errors", "errors", "{error}", "Packets with errors", "transmit", { $0.sentErrors }),
        (
            "received_drops", "packet.dropped", "{packet}", "Packets dropped without an error", "receive",
            { $0.receivedDrops }
        ),
        ("sent_drops", "packet.dropped", "{packet}", "Packets dropped without an error", "transmit", { $0.sentDrops }),
    ]

    private static let interfaceCounters: [CatalogEntry<WireNetworkDataSample>] = counters.flatMap {
        counter -> [CatalogEntry<WireNetworkDataSample>] in
        let delta = MetricDefinition("system.network.\(counter.name)", counter.unit, .deltaCounter, counter.description)
        let total = MetricDefinition(
            "ws1.network.\(counter.name).total", counter.unit, .cumulativeCounter,
            "\(counter.description) since the interface was created")
        @Sendable func attributes(_ interface: WireInterfaceData) -> [String: String] {
            var attributes = ["network.interface.name": interface.name, "network.io.direction": counter.direction]
            if let name = name(of: interface.class) { attributes["ws1.network.class"] = name }
            // The conventions call the interface so in this metric, and only in this one.
            if counter.name == "packet.count" { attributes["system.device"] = interface.name }
            return attributes
        }
        return [
            CatalogEntry("interfaces.delta.\(counter.field)", delta, each: \.interfaces, attributes: attributes) {
                $0.hasDelta ? Double(counter.read($0.delta)) : nil
            },
            CatalogEntry("interfaces.total.\(counter.field)", total, each: \.interfaces, attributes: attributes) {
                $0.hasTotal ? Double(counter.read($0.total)) : nil
            },
        ]
    }

    private static let classCounters: [CatalogEntry<WireNetworkDataSample>] = counters.flatMap {
        counter -> [CatalogEntry<WireNetworkDataSample>] in
        let delta = MetricDefinition(
            "ws1.network.class.\(counter.name)", counter.unit, .deltaCounter,
            "\(counter.description), over the interfaces of a class")
        let total = MetricDefinition(
            "ws1.network.class.\(counter.name).total", counter.unit, .cumulativeCounter,
            "\(counter.description) since they were created, over the present interfaces of a class")
        @Sendable func attributes(_ part: WireNetworkClassData) -> [String: String] {
            ["ws1.network.class": name(of: part.class) ?? "unknown", "network.io.direction": counter.direction]
        }
        return [
            CatalogEntry("classes.delta.\(counter.field)", delta, each: \.classes, attributes: attributes) {
                $0.hasDelta ? Double(counter.read($0.delta)) : nil
            },
            CatalogEntry("classes.total.\(counter.field)", total, each: \.classes, attributes: attributes) {
                $0.hasTotal ? Double(counter.read($0.total)) : nil
            },
        ]
    }

    /// `nil` for a class that is unknown or of a later version.
    static func name(of networkClass: WireNetworkClass) -> String? {
        switch networkClass {
        case .offline: "offline"
        case .ethernet: "ethernet"
        case .wifi: "wifi"
        case .cellular: "cellular"
        case .loopback: "loopback"
        case .tunnel: "tunnel"
        case .other: "other"
        case .unknown, .UNRECOGNIZED: nil
        }
    }

    /// All metrics of a NetworkAdapter sample: of each adapter what is a number.
    package static let networkAdapter: [CatalogEntry<WireNetworkAdapterSample>] = [
        adapter("mtu", "ws1.network.mtu", "By", .gauge, "Largest packet that the adapter takes") {
            $0.mtu > 0 ? Double($0.mtu) : nil
        },
        adapter(
            "carrier_changes", "ws1.network.carrier.changes", "{change}", .cumulativeCounter,
            "How often the link came or went since the adapter was created"
        ) { $0.hasCarrierChanges ? Double($0.carrierChanges) : nil },
        adapter(
            "speed_megabits", "hw.network.bandwidth.limit", "By/s", .upDownCounter, "Link speed", ["hw.type": "network"]
        ) { $0.hasSpeedMegabits ? Double($0.speedMegabits) * 125_000 : nil },
    ]

    private static func adapter(
        _ field: String, _ name: String, _ unit: String, _ kind: MetricDefinition.Kind, _ description: String,
        _ attributes: [String: String] = [:], _ read: @escaping @Sendable (WireNetworkAdapter) -> Double?
    ) -> CatalogEntry<WireNetworkAdapterSample> {
        CatalogEntry("adapters.\(field)", MetricDefinition(name, unit, kind, description), each: \.adapters) {
            adapter in
            var all = attributes
            all["network.interface.name"] = adapter.name
            all["ws1.network.interface.index"] = String(adapter.index)
            if let name = Self.name(of: adapter.class) { all["ws1.network.class"] = name }
            if all["hw.type"] != nil { all["hw.id"] = adapter.name }
            return all
        } value: {
            read($0)
        }
    }

    /// All metrics of a WLAN sample, per interface; the conventions have none for radios.
    package static let wlan: [CatalogEntry<WireWLANSample>] = [
        radio("frequency_megahertz", "ws1.wlan.frequency", "Hz", .gauge, "Centre of the primary channel") {
            $0.hasFrequencyMegahertz ? Double($0.frequencyMegahertz) * 1_000_000 : nil
        },
        radio("width_megahertz", "ws1.wlan.channel.width", "Hz", .gauge, "Width of the channel") {
            $0.hasWidthMegahertz ? Double($0.widthMegahertz) * 1_000_000 : nil
        },
        radio("signal_decibel_milliwatts", "ws1.wlan.signal", "{dBm}", .gauge, "Level of the access point's signal") {
            $0.hasSignalDecibelMilliwatts ? Double($0.signalDecibelMilliwatts) : nil
        },
        radio("noise_decibel_milliwatts", "ws1.wlan.noise", "{dBm}", .gauge, "Level of the noise on the channel") {
            $0.hasNoiseDecibelMilliwatts ? Double($0.noiseDecibelMilliwatts) : nil
        },
        radio(
            "transmit_rate_kilobits", "ws1.wlan.bit_rate", "bit/s", .gauge, "Bit rate of the last frame",
            ["network.io.direction": "transmit"]
        ) { $0.hasTransmitRateKilobits ? Double($0.transmitRateKilobits) * 1_000 : nil },
        radio(
            "receive_rate_kilobits", "ws1.wlan.bit_rate", "bit/s", .gauge, "Bit rate of the last frame",
            ["network.io.direction": "receive"]
        ) { $0.hasReceiveRateKilobits ? Double($0.receiveRateKilobits) * 1_000 : nil },
        radio("transmit_retries", "ws1.wlan.retries", "{frame}", .deltaCounter, "Frames sent again") {
            $0.hasTransmitRetries ? Double($0.transmitRetries) : nil
        },
        radio("transmit_failures", "ws1.wlan.failures", "{frame}", .deltaCounter, "Frames given up after all retries") {
            $0.hasTransmitFailures ? Double($0.transmitFailures) : nil
        },
        radio(
            "beacon_losses", "ws1.wlan.beacon.losses", "{event}", .deltaCounter,
            "Times that the access point's beacons were missing"
        ) { $0.hasBeaconLosses ? Double($0.beaconLosses) : nil },
        radio("connected_seconds", "ws1.wlan.connected", "s", .gauge, "Time since the interface joined the network") {
            $0.hasConnectedSeconds ? Double($0.connectedSeconds) : nil
        },
    ]

    private static func radio(
        _ field: String, _ name: String, _ unit: String, _ kind: MetricDefinition.Kind, _ description: String,
        _ attributes: [String: String] = [:], _ read: @escaping @Sendable (WireWLANInterface) -> Double?
    ) -> CatalogEntry<WireWLANSample> {
        CatalogEntry("interfaces.\(field)", MetricDefinition(name, unit, kind, description), each: \.interfaces) {
            var all = attributes
            all["network.interface.name"] = $0.name
            if $0.hasChannel { all["ws1.wlan.channel"] = String($0.channel) }
            return all
        } value: {
            read($0)
        }
    }
}
