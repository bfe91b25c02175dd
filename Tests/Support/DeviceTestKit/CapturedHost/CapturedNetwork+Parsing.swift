#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The lines of a captured machine that describe its network; `-` stands for nothing.
///
///     @interface index name type mtu operstate carrier-changes mac kind packets-in -out
///         bytes-in -out errors-in -out drops-in -out
///     @address interface address/prefix scope
///     @route 4|6 default|destination/prefix gateway interface metric table
///     @wireless family
///     @radio index name type ssid frequency width
///     @station interface mac signal transmit-rate receive-rate retries failures beacon-losses connected-seconds
///     @network interface bssid status frequency capability elements-in-hexadecimal
///     @channel interface frequency noise in-use
extension CapturedNetwork {
    /// Adds a line; `false` for one that is not of the network.
    mutating func add(_ words: [String]) -> Bool {
        switch words[0] {
        case "@interface":
            interfaces.append(
                Interface(
                    index: Self.number(words[1]), name: words[2], type: Self.number(words[3]),
                    mtu: Self.number(words[4]),
                    operationalState: Self.number(words[5]), carrierChanges: Self.number(words[6]),
                    address: Self.hardware(words[7]),
                    kind: words[8] == "-" ? nil : words[8], counters: words[9..<17].map { Self.number($0) }))
        case "@address":
            let (bytes, length) = Self.network(words[2])
            addresses.append(
                Address(
                    interface: Self.number(words[1]), bytes: bytes, prefixLength: length, scope: Self.number(words[3])))
        case "@route":
            let (bytes, length) = words[2] == "default" ? ([], 0) : Self.network(words[2])
            routes.append(
                Route(
                    destination: bytes, prefixLength: length, isVersion6: words[1] == "6",
                    gateway: words[3] == "-" ? nil : Self.internet(words[3]), interface: Self.number(words[4]),
                    metric: Self.number(words[5]), table: Self.number(words[6])))
        case "@wireless":
            wirelessFamily = Self.number(words[1])
        case "@radio":
            radios.append(
                Radio(
                    index: Self.number(words[1]), name: words[2], type: Self.number(words[3]),
                    ssid: words[4] == "-" ? [] : Array(words[4].utf8), frequency: Self.number(words[5]),
                    width: Self.number(words[6])))
        case "@station":
            change(words[1]) {
                $0.station = Station(
                    address: Self.hardware(words[2]), signal: Self.number(words[3]),
                    transmitRate: Self.number(words[4]),
                    receiveRate: Self.number(words[5]), retries: Self.number(words[6]), failures: Self.number(words[7]),
                    beaconLosses: Self.number(words[8]), connectedSeconds: Self.number(words[9]))
            }
        case "@network":
            change(words[1]) {
                $0.networks.append(
                    Network(
                        bssid: Self.hardware(words[2]), status: words[3] == "-" ? nil : Self.number(words[3]),
                        frequency: Self.number(words[4]), capability: Self.number(words[5]),
                        elements: Self.hexadecimal(words[6])))
            }
        case "@channel":
            change(words[1]) {
                $0.channels.append(
                    Channel(frequency: Self.number(words[2]), noise: Self.number(words[3]), isInUse: words[4] == "1"))
            }
        default: return false
        }
        return true
    }

    private mutating func change(_ index: String, _ body: (inout Radio) -> Void) {
        guard let place = radios.firstIndex(where: { $0.index == Self.number(index) }) else {
            preconditionFailure("a captured machine has no radio \(index)")
        }
        body(&radios[place])
    }

    private static func number<Number: FixedWidthInteger>(_ word: String) -> Number {
        guard let number = Number(word) else { preconditionFailure("\(word) in a captured machine is no number") }
        return number
    }

    private static func hardware(_ word: String) -> [UInt8] {
        word == "-" ? [] : word.split(separator: ":").map { UInt8($0, radix: 16) ?? 0 }
    }

    package static func hexadecimal(_ word: String) -> [UInt8] {
        let digits = Array(word)
        return stride(from: 0, to: digits.count - 1, by: 2).compactMap {
            UInt8(String(digits[$0...($0 + 1)]), radix: 16)
        }
    }

    private static func network(_ word: String) -> (bytes: [UInt8], length: UInt8) {
        let parts = word.split(separator: "/")
        return (internet(String(parts[0])), number(String(parts[1])))
    }

    private static func internet(_ word: String) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, word, &bytes) == 1 { return Array(bytes.prefix(4)) }
        guard inet_pton(AF_INET6, word, &bytes) == 1 else {
            preconditionFailure("\(word) in a captured machine is no address")
        }
        return bytes
    }
}
