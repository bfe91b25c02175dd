// Written by Tools/generate-wire from Schemas/wire/v1. Do not edit.
import WireModel

extension Definitions {
    static let ws1_wlan_frequency = MetricDefinition(
        name: "ws1.wlan.frequency", unit: "Hz", kind: .gauge,
        description: "Centre of the primary channel")
    static let ws1_wlan_channel_width = MetricDefinition(
        name: "ws1.wlan.channel.width", unit: "Hz", kind: .gauge,
        description: "Width of the channel")
    static let ws1_wlan_signal = MetricDefinition(
        name: "ws1.wlan.signal", unit: "dB{mW}", kind: .gauge,
        description: "Level of the access point's signal")
    static let ws1_wlan_noise = MetricDefinition(
        name: "ws1.wlan.noise", unit: "dB{mW}", kind: .gauge,
        description: "Level of the noise on the channel")
    static let ws1_wlan_bit_rate = MetricDefinition(
        name: "ws1.wlan.bit_rate", unit: "bit/s", kind: .gauge,
        description: "Bit rate of the last frame")
    static let ws1_wlan_retries = MetricDefinition(
        name: "ws1.wlan.retries", unit: "{frame}", kind: .deltaCounter,
        description: "Frames sent again")
    static let ws1_wlan_failures = MetricDefinition(
        name: "ws1.wlan.failures", unit: "{frame}", kind: .deltaCounter,
        description: "Frames given up after all retries")
    static let ws1_wlan_beacon_losses = MetricDefinition(
        name: "ws1.wlan.beacon.losses", unit: "{event}", kind: .deltaCounter,
        description: "Times that the access point's beacons were missing")
    static let ws1_wlan_connected = MetricDefinition(
        name: "ws1.wlan.connected", unit: "s", kind: .gauge,
        description: "Time since the interface joined the network")
}

extension WireWLANSample: CatalogedSample {
    package static let metricCatalog = entries()

    private static func entries() -> [CatalogEntry<WireWLANSample>] {
        var entries: [CatalogEntry<WireWLANSample>] = []
        entries.append(
            CatalogEntry(field: "interfaces.frequency_megahertz", metric: Definitions.ws1_wlan_frequency) {
                sample, emit in
                for element in sample.interfaces {
                    if element.hasFrequencyMegahertz {
                        var attributes: MetricAttributes = ["network.interface.name": .text(element.name)]
                        if element.hasChannel {
                            attributes["ws1.wlan.channel"] = .integer(Int64(clamping: element.channel))
                        }
                        emit(Double(element.frequencyMegahertz) * 1_000_000, attributes, nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "interfaces.width_megahertz", metric: Definitions.ws1_wlan_channel_width) {
                sample, emit in
                for element in sample.interfaces {
                    if element.hasWidthMegahertz {
                        var attributes: MetricAttributes = ["network.interface.name": .text(element.name)]
                        if element.hasChannel {
                            attributes["ws1.wlan.channel"] = .integer(Int64(clamping: element.channel))
                        }
                        emit(Double(element.widthMegahertz) * 1_000_000, attributes, nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "interfaces.signal_decibel_milliwatts", metric: Definitions.ws1_wlan_signal) {
                sample, emit in
                for element in sample.interfaces {
                    if element.hasSignalDecibelMilliwatts {
                        var attributes: MetricAttributes = ["network.interface.name": .text(element.name)]
                        if element.hasChannel {
                            attributes["ws1.wlan.channel"] = .integer(Int64(clamping: element.channel))
                        }
                        emit(Double(element.signalDecibelMilliwatts), attributes, nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "interfaces.noise_decibel_milliwatts", metric: Definitions.ws1_wlan_noise) {
                sample, emit in
                for element in sample.interfaces {
                    if element.hasNoiseDecibelMilliwatts {
                        var attributes: MetricAttributes = ["network.interface.name": .text(element.name)]
                        if element.hasChannel {
                            attributes["ws1.wlan.channel"] = .integer(Int64(clamping: element.channel))
                        }
                        emit(Double(element.noiseDecibelMilliwatts), attributes, nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "interfaces.transmit_rate_kilobits", metric: Definitions.ws1_wlan_bit_rate) {
                sample, emit in
                for element in sample.interfaces {
                    if element.hasTransmitRateKilobits {
                        var attributes: MetricAttributes = [
                            "network.io.direction": .text("transmit"), "network.interface.name": .text(element.name),
                        ]
                        if element.hasChannel {
                            attributes["ws1.wlan.channel"] = .integer(Int64(clamping: element.channel))
                        }
                        emit(Double(element.transmitRateKilobits) * 1_000, attributes, nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "interfaces.receive_rate_kilobits", metric: Definitions.ws1_wlan_bit_rate) {
                sample, emit in
                for element in sample.interfaces {
                    if element.hasReceiveRateKilobits {
                        var attributes: MetricAttributes = [
                            "network.io.direction": .text("receive"), "network.interface.name": .text(element.name),
                        ]
                        if element.hasChannel {
                            attributes["ws1.wlan.channel"] = .integer(Int64(clamping: element.channel))
                        }
                        emit(Double(element.receiveRateKilobits) * 1_000, attributes, nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "interfaces.transmit_retries", metric: Definitions.ws1_wlan_retries) { sample, emit in
                for element in sample.interfaces {
                    if element.hasTransmitRetries {
                        var attributes: MetricAttributes = ["network.interface.name": .text(element.name)]
                        if element.hasChannel {
                            attributes["ws1.wlan.channel"] = .integer(Int64(clamping: element.channel))
                        }
                        emit(Double(element.transmitRetries), attributes, nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "interfaces.transmit_failures", metric: Definitions.ws1_wlan_failures) { sample, emit in
                for element in sample.interfaces {
                    if element.hasTransmitFailures {
                        var attributes: MetricAttributes = ["network.interface.name": .text(element.name)]
                        if element.hasChannel {
                            attributes["ws1.wlan.channel"] = .integer(Int64(clamping: element.channel))
                        }
                        emit(Double(element.transmitFailures), attributes, nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "interfaces.beacon_losses", metric: Definitions.ws1_wlan_beacon_losses) {
                sample, emit in
                for element in sample.interfaces {
                    if element.hasBeaconLosses {
                        var attributes: MetricAttributes = ["network.interface.name": .text(element.name)]
                        if element.hasChannel {
                            attributes["ws1.wlan.channel"] = .integer(Int64(clamping: element.channel))
                        }
                        emit(Double(element.beaconLosses), attributes, nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "interfaces.connected_seconds", metric: Definitions.ws1_wlan_connected) {
                sample, emit in
                for element in sample.interfaces {
                    if element.hasConnectedSeconds {
                        var attributes: MetricAttributes = ["network.interface.name": .text(element.name)]
                        if element.hasChannel {
                            attributes["ws1.wlan.channel"] = .integer(Int64(clamping: element.channel))
                        }
                        emit(Double(element.connectedSeconds), attributes, nil)
                    }
                }
            })
        return entries
    }

    package var sampleInterval: UInt64? {
        nil
    }
}
