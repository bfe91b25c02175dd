extension MetricCatalog {
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
        radio("beacon_losses", "ws1.wlan.beacon.losses", "{event}", .deltaCounter, "Times the access point's beacons stayed away") {
            $0.hasBeaconLosses ? Double($0.beaconLosses) : nil
        },
        radio("connected_seconds", "ws1.wlan.connected", "s", .gauge, "Time since the interface joined the network") {
            $0.hasConnectedSeconds ? Double($0.connectedSeconds) : nil
        },
    ]

    private static func radio(
        _ field: String, _ name: String, _ unit: String, _ kind: MetricDefinition.Kind, _ description: String,
        _ attributes: [String: String] = [:], _ read: @escaping @Sendable (WireWLANInterface) -> Double?
    ) -> CatalogEntry<WireWLANSample> {
        CatalogEntry(
            field: "interfaces.\(field)", metric: MetricDefinition(name: name, unit: unit, kind: kind, description: description)
        ) { sample, emit in
            for interface in sample.interfaces {
                guard let value = read(interface) else { continue }
                var all = attributes
                all["network.interface.name"] = interface.name
                if interface.hasChannel { all["ws1.wlan.channel"] = String(interface.channel) }
                emit(value, all)
            }
        }
    }
}
