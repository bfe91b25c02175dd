/// The nl80211 requests that samples need. Every user may send them. Numbers are from `<linux/nl80211.h>`.
enum NL80211 {
    static let name = "nl80211"

    static func interfaces(family: UInt16) -> NetlinkRequest { request(family, command: 5, interface: nil) }
    static func stations(family: UInt16, interface: UInt32) -> NetlinkRequest {
        request(family, command: 17, interface: interface)
    }
    /// The results of the last scan. Does not start a scan.
    static func scanResults(family: UInt16, interface: UInt32) -> NetlinkRequest {
        request(family, command: 32, interface: interface)
    }
    static func survey(family: UInt16, interface: UInt32) -> NetlinkRequest {
        request(family, command: 50, interface: interface)
    }

    private static func request(_ family: UInt16, command: UInt8, interface: UInt32?) -> NetlinkRequest {
        var payload = GenericNetlink.payload(command: command)
        if let interface { payload.add(attribute: 3, number: interface) }
        return NetlinkRequest(family: .generic, type: family, isDump: true, payload: payload.bytes)
    }

    /// The attributes of an answer to a command; `nil` for other messages.
    fileprivate static func attributes(_ message: NetlinkMessages.Message, command: UInt8) -> NetlinkAttributes? {
        guard message.body.count >= GenericNetlink.headerLength, message.body[0] == command else { return nil }
        return NetlinkAttributes(message.body, from: GenericNetlink.headerLength)
    }

    /// The attributes nested in the attribute `type` of an answer.
    fileprivate static func nested(_ message: NetlinkMessages.Message, command: UInt8, _ type: UInt16)
        -> NetlinkAttributes?
    {
        attributes(message, command: command)?.first { $0.type == type }?.nested
    }

    /// A signal level in dBm. Values of zero and above are invalid.
    fileprivate static func level(_ attribute: NetlinkAttributes.Attribute) -> Int32? {
        attribute.number(Int8.self).flatMap { $0 < 0 ? Int32($0) : nil }
    }
}

/// `NL80211_CMD_NEW_INTERFACE`
struct WLANInterfaceMessage: Equatable, Sendable {
    var index: UInt32
    var name: String
    /// `NL80211_IFTYPE_*`
    var type: UInt32?
    /// The network's name, at most 32 bytes, in any encoding.
    var ssid: [UInt8]?
    /// Megahertz.
    var frequency: UInt32?
    /// Megahertz.
    var width: UInt32?

    /// The interface is joined to an access point, or may join one: a managed station or the client of a group.
    var isStation: Bool { type == 2 || type == 8 }

    init?(_ message: NetlinkMessages.Message) {
        guard let attributes = NL80211.attributes(message, command: 7) else { return nil }
        var index: UInt32?
        var name: String?
        for attribute in attributes {
            switch attribute.type {
            case 3: index = attribute.number()
            case 4: name = attribute.name
            case 5: type = attribute.number()
            case 38: frequency = attribute.number()
            case 52: ssid = (1...32).contains(attribute.payload.count) ? Array(attribute.payload) : nil
            case 159: width = attribute.number(UInt32.self).flatMap(Self.megahertz)
            default: break
            }
        }
        // Devices without a network interface (P2P management) have neither.
        guard let index, index > 0, let name else { return nil }
        self.index = index
        self.name = name
    }

    /// `enum nl80211_chan_width`
    private static func megahertz(_ width: UInt32) -> UInt32? {
        switch width {
        case 0, 1: 20
        case 2: 40
        case 3: 80
        case 4, 5: 160
        case 6: 5
        case 7: 10
        case 8: 1
        case 9: 2
        case 10: 4
        case 11: 8
        case 12: 16
        case 13: 320
        default: nil
        }
    }
}

/// `NL80211_CMD_NEW_STATION`: the link to the other station.
struct WLANStationMessage: Equatable, Sendable {
    var address: [UInt8]
    /// dBm
    var signal: Int32?
    /// Kilobits per second.
    var transmitRate: UInt32?
    var receiveRate: UInt32?
    /// Since the association. These three counters have 32 bits.
    var transmitRetries: UInt32?
    var transmitFailures: UInt32?
    var beaconLosses: UInt32?
    var connectedSeconds: UInt32?

    init?(_ message: NetlinkMessages.Message) {
        guard let attributes = NL80211.attributes(message, command: 19),
            let address = attributes.first(where: { $0.type == 6 })?.payload, address.count == 6,
            let information = attributes.first(where: { $0.type == 21 })?.nested
        else { return nil }
        self.address = Array(address)
        for attribute in information {
            switch attribute.type {
            case 7: signal = NL80211.level(attribute)
            case 8: transmitRate = Self.rate(attribute)
            case 11: transmitRetries = attribute.number()
            case 12: transmitFailures = attribute.number()
            case 14: receiveRate = Self.rate(attribute)
            case 16: connectedSeconds = attribute.number()
            case 18: beaconLosses = attribute.number()
            default: break
            }
        }
    }

    /// `NL80211_RATE_INFO_*`: in units of 100 kbit/s. The 32-bit attribute is used where 16 bits are too few.
    private static func rate(_ attribute: NetlinkAttributes.Attribute) -> UInt32? {
        var narrow: UInt32?
        var wide: UInt32?
        for attribute in attribute.nested {
            switch attribute.type {
            case 1: narrow = attribute.number(UInt16.self).map(UInt32.init)
            case 5: wide = attribute.number()
            default: break
            }
        }
        guard let units = wide ?? narrow, units > 0, units <= UInt32.max / 100 else { return nil }
        return units * 100
    }
}

/// `NL80211_CMD_NEW_SCAN_RESULTS`: one network in range.
struct WLANNetworkMessage: Equatable, Sendable {
    var bssid: [UInt8]
    /// This machine is associated with it.
    var isAssociated: Bool
    /// Megahertz.
    var frequency: UInt32?
    var ssid: [UInt8]?
    var security: String?

    init?(_ message: NetlinkMessages.Message) {
        guard let attributes = NL80211.nested(message, command: 34, 47) else { return nil }
        var bssid: UnsafeRawBufferPointer?
        var status: UInt32?
        var capability: UInt16?
        var elements: UnsafeRawBufferPointer?
        var beacon: UnsafeRawBufferPointer?
        for attribute in attributes {
            switch attribute.type {
            case 1: bssid = attribute.payload
            case 2: frequency = attribute.number()
            case 5: capability = attribute.number()
            case 6: elements = attribute.payload
            case 9: status = attribute.number()
            case 11: beacon = attribute.payload
            default: break
            }
        }
        guard let bssid, bssid.count == 6 else { return nil }
        self.bssid = Array(bssid)
        // NL80211_BSS_STATUS_ASSOCIATED. 0 means authenticated only, 2 an ad-hoc network.
        isAssociated = status == 1
        guard isAssociated, let bytes = elements ?? beacon else { return }
        let information = InformationElements(bytes)
        ssid = information.ssid
        if let capability { security = information.security(hasPrivacy: capability & 0x10 != 0) }
    }
}

/// `NL80211_CMD_NEW_SURVEY_RESULTS`: one channel.
struct WLANSurveyMessage: Equatable, Sendable {
    var isInUse: Bool
    /// dBm
    var noise: Int32?

    init?(_ message: NetlinkMessages.Message) {
        guard let attributes = NL80211.nested(message, command: 51, 84) else { return nil }
        isInUse = attributes.contains { $0.type == 3 }
        noise = attributes.first { $0.type == 2 }.flatMap(NL80211.level)
    }
}
