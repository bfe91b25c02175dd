/// Asks nl80211 about the machine's wireless interfaces and what they are joined to. Never starts a scan.
struct WLANLinks {
    private static let maximumAnswer = 1024 * 1024
    private static let radios = "/sys/class/ieee80211"

    private var family: UInt16?

    static func hasRadio(_ host: any HostSource) -> Bool { host.list(radios, maximumEntries: 1)?.isEmpty == false }

    /// The interfaces in the order of their indexes; `nil` if nl80211 does not answer.
    mutating func interfaces(_ reader: inout FileReader) -> [WLANInterfaceMessage]? {
        // Asking for a missing family makes the kernel search for a module, so ask only if there is a radio.
        guard Self.hasRadio(reader.host) else {
            family = nil
            return nil
        }
        if family == nil {
            family = reader.exchange(GenericNetlink.family(named: NL80211.name), maximumBytes: 64 * 1024) {
                GenericNetlink.familyNumber($0)
            }
        }
        guard let family else { return nil }
        let interfaces = reader.exchange(NL80211.interfaces(family: family), maximumBytes: Self.maximumAnswer) {
            $0.compactMap { WLANInterfaceMessage($0) }
        }
        // The family gets another number if its module is loaded again.
        if interfaces == nil { self.family = nil }
        return interfaces?.sorted { $0.index < $1.index }
    }

    /// The name of the network that an interface is joined to: at most 32 bytes, in any encoding. `nil` if it is joined
    /// to none, or if neither driver nor access point gives the name.
    mutating func ssid(of interface: String, _ reader: inout FileReader) -> [UInt8]? {
        guard let link = interfaces(&reader)?.first(where: { $0.name == interface }) else { return nil }
        return link.ssid ?? network(of: link.index, &reader)?.ssid
    }

    /// The access point; `nil` without one.
    func station(of interface: UInt32, _ former: [UInt8]?, _ reader: inout FileReader) -> WLANStationMessage? {
        guard let family else { return nil }
        let stations = reader.exchange(
            NL80211.stations(family: family, interface: interface), maximumBytes: Self.maximumAnswer
        ) {
            $0.compactMap { WLANStationMessage($0) }
        }
        // Direct links to neighbours are stations too, but the access point is the first.
        return stations?.first { $0.address == former } ?? stations?.first
    }

    /// The network that the interface is joined to, in its own words.
    func network(of interface: UInt32, _ reader: inout FileReader) -> WLANNetworkMessage? {
        guard let family else { return nil }
        return reader.exchange(
            NL80211.scanResults(family: family, interface: interface), maximumBytes: Self.maximumAnswer
        ) { messages in
            .some(messages.lazy.compactMap { WLANNetworkMessage($0) }.first(where: \.isAssociated))
        }.flatMap { $0 }
    }

    func noise(of interface: UInt32, _ reader: inout FileReader) -> Int32? {
        guard let family else { return nil }
        // Many drivers have no survey, so its absence is not odd.
        return reader.exchange(
            NL80211.survey(family: family, interface: interface), maximumBytes: Self.maximumAnswer, traced: false
        ) {
            messages in messages.lazy.compactMap { WLANSurveyMessage($0) }.first(where: \.isInUse)?.noise
        }
    }
}
