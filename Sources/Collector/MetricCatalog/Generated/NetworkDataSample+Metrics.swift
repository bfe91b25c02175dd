// Written by Tools/generate-wire from Schemas/wire/v1. Do not edit.
import WireModel

extension Definitions {
    static let ws1_network_sample_interval = MetricDefinition(
        name: "ws1.network.sample.interval", unit: "s", kind: .gauge,
        description: "Time since the previous NetworkData sample")
    static let ws1_network_class_io_increase = MetricDefinition(
        name: "ws1.network.class.io.increase", unit: "By", kind: .deltaCounter,
        description: "Bytes transferred since the previous sample, over the interfaces of a class")
    static let ws1_network_class_packet_count_increase = MetricDefinition(
        name: "ws1.network.class.packet.count.increase", unit: "{packet}", kind: .deltaCounter,
        description: "Packets transferred since the previous sample, over the interfaces of a class")
    static let ws1_network_class_errors_increase = MetricDefinition(
        name: "ws1.network.class.errors.increase", unit: "{error}", kind: .deltaCounter,
        description: "Packets with errors since the previous sample, over the interfaces of a class")
    static let ws1_network_class_packet_dropped_increase = MetricDefinition(
        name: "ws1.network.class.packet.dropped.increase", unit: "{packet}", kind: .deltaCounter,
        description: "Packets dropped without an error since the previous sample, over the interfaces of a class")
    static let ws1_network_class_io = MetricDefinition(
        name: "ws1.network.class.io", unit: "By", kind: .cumulativeCounter,
        description: "Bytes transferred since they were created, over the present interfaces of a class")
    static let ws1_network_class_packet_count = MetricDefinition(
        name: "ws1.network.class.packet.count", unit: "{packet}", kind: .cumulativeCounter,
        description: "Packets transferred since they were created, over the present interfaces of a class")
    static let ws1_network_class_errors = MetricDefinition(
        name: "ws1.network.class.errors", unit: "{error}", kind: .cumulativeCounter,
        description: "Packets with errors since they were created, over the present interfaces of a class")
    static let ws1_network_class_packet_dropped = MetricDefinition(
        name: "ws1.network.class.packet.dropped", unit: "{packet}", kind: .cumulativeCounter,
        description: "Packets dropped without an error since they were created, over the present interfaces of a class")
    static let ws1_network_io_increase = MetricDefinition(
        name: "ws1.network.io.increase", unit: "By", kind: .deltaCounter,
        description: "Bytes transferred since the previous sample")
    static let ws1_network_packet_count_increase = MetricDefinition(
        name: "ws1.network.packet.count.increase", unit: "{packet}", kind: .deltaCounter,
        description: "Packets transferred since the previous sample")
    static let ws1_network_errors_increase = MetricDefinition(
        name: "ws1.network.errors.increase", unit: "{error}", kind: .deltaCounter,
        description: "Packets with errors since the previous sample")
    static let ws1_network_packet_dropped_increase = MetricDefinition(
        name: "ws1.network.packet.dropped.increase", unit: "{packet}", kind: .deltaCounter,
        description: "Packets dropped without an error since the previous sample")
    static let system_network_io = MetricDefinition(
        name: "system.network.io", unit: "By", kind: .cumulativeCounter,
        description: "Bytes transferred since the interface was created")
    static let system_network_packet_count = MetricDefinition(
        name: "system.network.packet.count", unit: "{packet}", kind: .cumulativeCounter,
        description: "Packets transferred since the interface was created")
    static let system_network_errors = MetricDefinition(
        name: "system.network.errors", unit: "{error}", kind: .cumulativeCounter,
        description: "Packets with errors since the interface was created")
    static let system_network_packet_dropped = MetricDefinition(
        name: "system.network.packet.dropped", unit: "{packet}", kind: .cumulativeCounter,
        description: "Packets dropped without an error since the interface was created")
    static let ws1_network_tcp_opens = MetricDefinition(
        name: "ws1.network.tcp.opens", unit: "{connection}", kind: .deltaCounter,
        description: "TCP connections opened by either side")
    static let ws1_network_tcp_resets = MetricDefinition(
        name: "ws1.network.tcp.resets", unit: "{reset}", kind: .deltaCounter,
        description: "TCP resets sent, and connections ended by a reset")
    static let ws1_network_tcp_retransmits = MetricDefinition(
        name: "ws1.network.tcp.retransmits", unit: "{segment}", kind: .deltaCounter,
        description: "TCP segments sent again")
    static let system_network_connection_count = MetricDefinition(
        name: "system.network.connection.count", unit: "{connection}", kind: .upDownCounter,
        description: "Connections in each state")
    static let ws1_network_udp_errors = MetricDefinition(
        name: "ws1.network.udp.errors", unit: "{datagram}", kind: .deltaCounter,
        description: "UDP datagrams that could not be delivered")
    static let ws1_network_sockets = MetricDefinition(
        name: "ws1.network.sockets", unit: "{socket}", kind: .upDownCounter,
        description: "Sockets in use, of all families")
    static let ws1_network_roaming = MetricDefinition(
        name: "ws1.network.roaming", unit: "1", kind: .gauge,
        description: "1 while the modem roams, 0 while it is at home")
}

extension WireNetworkDataSample: CatalogedSample {
    package static let metricCatalog = entries()

    private static func entries() -> [CatalogEntry<WireNetworkDataSample>] {
        var entries: [CatalogEntry<WireNetworkDataSample>] = []
        entries.append(
            CatalogEntry(field: "interval_microseconds", metric: Definitions.ws1_network_sample_interval) {
                sample, emit in
                if sample.hasIntervalMicroseconds {
                    emit(Double(sample.intervalMicroseconds) / 1_000_000, [:], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "classes.delta.received_bytes", metric: Definitions.ws1_network_class_io_increase) {
                sample, emit in
                for element in sample.classes {
                    if element.hasDelta {
                        emit(
                            Double(element.delta.receivedBytes),
                            [
                                "network.io.direction": .text("receive"),
                                "ws1.network.class": .text(element.class.attributeValue ?? "unknown"),
                            ], nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "classes.delta.sent_bytes", metric: Definitions.ws1_network_class_io_increase) {
                sample, emit in
                for element in sample.classes {
                    if element.hasDelta {
                        emit(
                            Double(element.delta.sentBytes),
                            [
                                "network.io.direction": .text("transmit"),
                                "ws1.network.class": .text(element.class.attributeValue ?? "unknown"),
                            ], nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(
                field: "classes.delta.received_packets", metric: Definitions.ws1_network_class_packet_count_increase
            ) { sample, emit in
                for element in sample.classes {
                    if element.hasDelta {
                        emit(
                            Double(element.delta.receivedPackets),
                            [
                                "network.io.direction": .text("receive"),
                                "ws1.network.class": .text(element.class.attributeValue ?? "unknown"),
                            ], nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(
                field: "classes.delta.sent_packets", metric: Definitions.ws1_network_class_packet_count_increase
            ) { sample, emit in
                for element in sample.classes {
                    if element.hasDelta {
                        emit(
                            Double(element.delta.sentPackets),
                            [
                                "network.io.direction": .text("transmit"),
                                "ws1.network.class": .text(element.class.attributeValue ?? "unknown"),
                            ], nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "classes.delta.received_errors", metric: Definitions.ws1_network_class_errors_increase)
            { sample, emit in
                for element in sample.classes {
                    if element.hasDelta {
                        emit(
                            Double(element.delta.receivedErrors),
                            [
                                "network.io.direction": .text("receive"),
                                "ws1.network.class": .text(element.class.attributeValue ?? "unknown"),
                            ], nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "classes.delta.sent_errors", metric: Definitions.ws1_network_class_errors_increase) {
                sample, emit in
                for element in sample.classes {
                    if element.hasDelta {
                        emit(
                            Double(element.delta.sentErrors),
                            [
                                "network.io.direction": .text("transmit"),
                                "ws1.network.class": .text(element.class.attributeValue ?? "unknown"),
                            ], nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(
                field: "classes.delta.received_drops", metric: Definitions.ws1_network_class_packet_dropped_increase
            ) { sample, emit in
                for element in sample.classes {
                    if element.hasDelta {
                        emit(
                            Double(element.delta.receivedDrops),
                            [
                                "network.io.direction": .text("receive"),
                                "ws1.network.class": .text(element.class.attributeValue ?? "unknown"),
                            ], nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(
                field: "classes.delta.sent_drops", metric: Definitions.ws1_network_class_packet_dropped_increase
            ) { sample, emit in
                for element in sample.classes {
                    if element.hasDelta {
                        emit(
                            Double(element.delta.sentDrops),
                            [
                                "network.io.direction": .text("transmit"),
                                "ws1.network.class": .text(element.class.attributeValue ?? "unknown"),
                            ], nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "classes.total.received_bytes", metric: Definitions.ws1_network_class_io) {
                sample, emit in
                for element in sample.classes {
                    if element.hasTotal {
                        emit(
                            Double(element.total.receivedBytes),
                            [
                                "network.io.direction": .text("receive"),
                                "ws1.network.class": .text(element.class.attributeValue ?? "unknown"),
                            ], nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "classes.total.sent_bytes", metric: Definitions.ws1_network_class_io) { sample, emit in
                for element in sample.classes {
                    if element.hasTotal {
                        emit(
                            Double(element.total.sentBytes),
                            [
                                "network.io.direction": .text("transmit"),
                                "ws1.network.class": .text(element.class.attributeValue ?? "unknown"),
                            ], nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "classes.total.received_packets", metric: Definitions.ws1_network_class_packet_count) {
                sample, emit in
                for element in sample.classes {
                    if element.hasTotal {
                        emit(
                            Double(element.total.receivedPackets),
                            [
                                "network.io.direction": .text("receive"),
                                "ws1.network.class": .text(element.class.attributeValue ?? "unknown"),
                            ], nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "classes.total.sent_packets", metric: Definitions.ws1_network_class_packet_count) {
                sample, emit in
                for element in sample.classes {
                    if element.hasTotal {
                        emit(
                            Double(element.total.sentPackets),
                            [
                                "network.io.direction": .text("transmit"),
                                "ws1.network.class": .text(element.class.attributeValue ?? "unknown"),
                            ], nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "classes.total.received_errors", metric: Definitions.ws1_network_class_errors) {
                sample, emit in
                for element in sample.classes {
                    if element.hasTotal {
                        emit(
                            Double(element.total.receivedErrors),
                            [
                                "network.io.direction": .text("receive"),
                                "ws1.network.class": .text(element.class.attributeValue ?? "unknown"),
                            ], nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "classes.total.sent_errors", metric: Definitions.ws1_network_class_errors) {
                sample, emit in
                for element in sample.classes {
                    if element.hasTotal {
                        emit(
                            Double(element.total.sentErrors),
                            [
                                "network.io.direction": .text("transmit"),
                                "ws1.network.class": .text(element.class.attributeValue ?? "unknown"),
                            ], nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "classes.total.received_drops", metric: Definitions.ws1_network_class_packet_dropped) {
                sample, emit in
                for element in sample.classes {
                    if element.hasTotal {
                        emit(
                            Double(element.total.receivedDrops),
                            [
                                "network.io.direction": .text("receive"),
                                "ws1.network.class": .text(element.class.attributeValue ?? "unknown"),
                            ], nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "classes.total.sent_drops", metric: Definitions.ws1_network_class_packet_dropped) {
                sample, emit in
                for element in sample.classes {
                    if element.hasTotal {
                        emit(
                            Double(element.total.sentDrops),
                            [
                                "network.io.direction": .text("transmit"),
                                "ws1.network.class": .text(element.class.attributeValue ?? "unknown"),
                            ], nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "interfaces.delta.received_bytes", metric: Definitions.ws1_network_io_increase) {
                sample, emit in
                for element in sample.interfaces {
                    if element.hasDelta {
                        var attributes: MetricAttributes = [
                            "network.io.direction": .text("receive"), "network.interface.name": .text(element.name),
                        ]
                        if let name = element.class.attributeValue { attributes["ws1.network.class"] = .text(name) }
                        emit(Double(element.delta.receivedBytes), attributes, nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "interfaces.delta.sent_bytes", metric: Definitions.ws1_network_io_increase) {
                sample, emit in
                for element in sample.interfaces {
                    if element.hasDelta {
                        var attributes: MetricAttributes = [
                            "network.io.direction": .text("transmit"), "network.interface.name": .text(element.name),
                        ]
                        if let name = element.class.attributeValue { attributes["ws1.network.class"] = .text(name) }
                        emit(Double(element.delta.sentBytes), attributes, nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(
                field: "interfaces.delta.received_packets", metric: Definitions.ws1_network_packet_count_increase
            ) { sample, emit in
                for element in sample.interfaces {
                    if element.hasDelta {
                        var attributes: MetricAttributes = [
                            "network.io.direction": .text("receive"), "network.interface.name": .text(element.name),
                            "system.device": .text(element.name),
                        ]
                        if let name = element.class.attributeValue { attributes["ws1.network.class"] = .text(name) }
                        emit(Double(element.delta.receivedPackets), attributes, nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "interfaces.delta.sent_packets", metric: Definitions.ws1_network_packet_count_increase)
            { sample, emit in
                for element in sample.interfaces {
                    if element.hasDelta {
                        var attributes: MetricAttributes = [
                            "network.io.direction": .text("transmit"), "network.interface.name": .text(element.name),
                            "system.device": .text(element.name),
                        ]
                        if let name = element.class.attributeValue { attributes["ws1.network.class"] = .text(name) }
                        emit(Double(element.delta.sentPackets), attributes, nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "interfaces.delta.received_errors", metric: Definitions.ws1_network_errors_increase) {
                sample, emit in
                for element in sample.interfaces {
                    if element.hasDelta {
                        var attributes: MetricAttributes = [
                            "network.io.direction": .text("receive"), "network.interface.name": .text(element.name),
                        ]
                        if let name = element.class.attributeValue { attributes["ws1.network.class"] = .text(name) }
                        emit(Double(element.delta.receivedErrors), attributes, nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "interfaces.delta.sent_errors", metric: Definitions.ws1_network_errors_increase) {
                sample, emit in
                for element in sample.interfaces {
                    if element.hasDelta {
                        var attributes: MetricAttributes = [
                            "network.io.direction": .text("transmit"), "network.interface.name": .text(element.name),
                        ]
                        if let name = element.class.attributeValue { attributes["ws1.network.class"] = .text(name) }
                        emit(Double(element.delta.sentErrors), attributes, nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(
                field: "interfaces.delta.received_drops", metric: Definitions.ws1_network_packet_dropped_increase
            ) { sample, emit in
                for element in sample.interfaces {
                    if element.hasDelta {
                        var attributes: MetricAttributes = [
                            "network.io.direction": .text("receive"), "network.interface.name": .text(element.name),
                        ]
                        if let name = element.class.attributeValue { attributes["ws1.network.class"] = .text(name) }
                        emit(Double(element.delta.receivedDrops), attributes, nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "interfaces.delta.sent_drops", metric: Definitions.ws1_network_packet_dropped_increase)
            { sample, emit in
                for element in sample.interfaces {
                    if element.hasDelta {
                        var attributes: MetricAttributes = [
                            "network.io.direction": .text("transmit"), "network.interface.name": .text(element.name),
                        ]
                        if let name = element.class.attributeValue { attributes["ws1.network.class"] = .text(name) }
                        emit(Double(element.delta.sentDrops), attributes, nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "interfaces.total.received_bytes", metric: Definitions.system_network_io) {
                sample, emit in
                for element in sample.interfaces {
                    if element.hasTotal {
                        var attributes: MetricAttributes = [
                            "network.io.direction": .text("receive"), "network.interface.name": .text(element.name),
                        ]
                        if let name = element.class.attributeValue { attributes["ws1.network.class"] = .text(name) }
                        emit(
                            Double(element.total.receivedBytes), attributes,
                            (element.hasCountedMicroseconds ? element.countedMicroseconds : nil))
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "interfaces.total.sent_bytes", metric: Definitions.system_network_io) { sample, emit in
                for element in sample.interfaces {
                    if element.hasTotal {
                        var attributes: MetricAttributes = [
                            "network.io.direction": .text("transmit"), "network.interface.name": .text(element.name),
                        ]
                        if let name = element.class.attributeValue { attributes["ws1.network.class"] = .text(name) }
                        emit(
                            Double(element.total.sentBytes), attributes,
                            (element.hasCountedMicroseconds ? element.countedMicroseconds : nil))
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "interfaces.total.received_packets", metric: Definitions.system_network_packet_count) {
                sample, emit in
                for element in sample.interfaces {
                    if element.hasTotal {
                        var attributes: MetricAttributes = [
                            "network.io.direction": .text("receive"), "network.interface.name": .text(element.name),
                            "system.device": .text(element.name),
                        ]
                        if let name = element.class.attributeValue { attributes["ws1.network.class"] = .text(name) }
                        emit(
                            Double(element.total.receivedPackets), attributes,
                            (element.hasCountedMicroseconds ? element.countedMicroseconds : nil))
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "interfaces.total.sent_packets", metric: Definitions.system_network_packet_count) {
                sample, emit in
                for element in sample.interfaces {
                    if element.hasTotal {
                        var attributes: MetricAttributes = [
                            "network.io.direction": .text("transmit"), "network.interface.name": .text(element.name),
                            "system.device": .text(element.name),
                        ]
                        if let name = element.class.attributeValue { attributes["ws1.network.class"] = .text(name) }
                        emit(
                            Double(element.total.sentPackets), attributes,
                            (element.hasCountedMicroseconds ? element.countedMicroseconds : nil))
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "interfaces.total.received_errors", metric: Definitions.system_network_errors) {
                sample, emit in
                for element in sample.interfaces {
                    if element.hasTotal {
                        var attributes: MetricAttributes = [
                            "network.io.direction": .text("receive"), "network.interface.name": .text(element.name),
                        ]
                        if let name = element.class.attributeValue { attributes["ws1.network.class"] = .text(name) }
                        emit(
                            Double(element.total.receivedErrors), attributes,
                            (element.hasCountedMicroseconds ? element.countedMicroseconds : nil))
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "interfaces.total.sent_errors", metric: Definitions.system_network_errors) {
                sample, emit in
                for element in sample.interfaces {
                    if element.hasTotal {
                        var attributes: MetricAttributes = [
                            "network.io.direction": .text("transmit"), "network.interface.name": .text(element.name),
                        ]
                        if let name = element.class.attributeValue { attributes["ws1.network.class"] = .text(name) }
                        emit(
                            Double(element.total.sentErrors), attributes,
                            (element.hasCountedMicroseconds ? element.countedMicroseconds : nil))
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "interfaces.total.received_drops", metric: Definitions.system_network_packet_dropped) {
                sample, emit in
                for element in sample.interfaces {
                    if element.hasTotal {
                        var attributes: MetricAttributes = [
                            "network.io.direction": .text("receive"), "network.interface.name": .text(element.name),
                        ]
                        if let name = element.class.attributeValue { attributes["ws1.network.class"] = .text(name) }
                        emit(
                            Double(element.total.receivedDrops), attributes,
                            (element.hasCountedMicroseconds ? element.countedMicroseconds : nil))
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "interfaces.total.sent_drops", metric: Definitions.system_network_packet_dropped) {
                sample, emit in
                for element in sample.interfaces {
                    if element.hasTotal {
                        var attributes: MetricAttributes = [
                            "network.io.direction": .text("transmit"), "network.interface.name": .text(element.name),
                        ]
                        if let name = element.class.attributeValue { attributes["ws1.network.class"] = .text(name) }
                        emit(
                            Double(element.total.sentDrops), attributes,
                            (element.hasCountedMicroseconds ? element.countedMicroseconds : nil))
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "tcp_active_opens", metric: Definitions.ws1_network_tcp_opens) { sample, emit in
                if sample.hasTcpActiveOpens {
                    emit(Double(sample.tcpActiveOpens), ["ws1.network.tcp.side": .text("active")], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "tcp_passive_opens", metric: Definitions.ws1_network_tcp_opens) { sample, emit in
                if sample.hasTcpPassiveOpens {
                    emit(Double(sample.tcpPassiveOpens), ["ws1.network.tcp.side": .text("passive")], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "tcp_resets_sent", metric: Definitions.ws1_network_tcp_resets) { sample, emit in
                if sample.hasTcpResetsSent {
                    emit(Double(sample.tcpResetsSent), ["network.io.direction": .text("transmit")], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "tcp_resets_received", metric: Definitions.ws1_network_tcp_resets) { sample, emit in
                if sample.hasTcpResetsReceived {
                    emit(Double(sample.tcpResetsReceived), ["network.io.direction": .text("receive")], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "tcp_retransmits", metric: Definitions.ws1_network_tcp_retransmits) { sample, emit in
                if sample.hasTcpRetransmits {
                    emit(Double(sample.tcpRetransmits), [:], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "tcp_established", metric: Definitions.system_network_connection_count) {
                sample, emit in
                if sample.hasTcpEstablished {
                    emit(
                        Double(sample.tcpEstablished),
                        ["network.transport": .text("tcp"), "network.connection.state": .text("established")], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "udp_errors", metric: Definitions.ws1_network_udp_errors) { sample, emit in
                if sample.hasUdpErrors {
                    emit(Double(sample.udpErrors), [:], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "sockets_in_use", metric: Definitions.ws1_network_sockets) { sample, emit in
                if sample.hasSocketsInUse {
                    emit(Double(sample.socketsInUse), [:], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "roaming", metric: Definitions.ws1_network_roaming) { sample, emit in
                switch sample.roaming {
                case .no: emit(0, [:], nil)
                case .yes: emit(1, [:], nil)
                default: break
                }
            })
        return entries
    }

    package var sampleInterval: UInt64? {
        hasIntervalMicroseconds ? intervalMicroseconds : nil
    }
}
