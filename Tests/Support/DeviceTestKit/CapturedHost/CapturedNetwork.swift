/// The network of a captured machine, as its kernel reports it over netlink (`CapturedNetwork+Answer.swift` writes the
/// messages).
package struct CapturedNetwork: Sendable {
    package struct Interface: Sendable {
        package var index: UInt32
        package var name: String
        /// `ARPHRD_*`
        package var type: UInt16
        package var mtu: UInt32
        /// `IF_OPER_*`
        package var operationalState: UInt8
        package var carrierChanges: UInt32
        package var address: [UInt8]
        package var kind: String?
        /// The counters in the order of `struct rtnl_link_stats64`: received and sent packets, bytes, errors, drops.
        package var counters: [UInt64]
    }

    package struct Address: Sendable {
        package var interface: UInt32
        package var bytes: [UInt8]
        package var prefixLength: UInt8
        /// `RT_SCOPE_*`
        package var scope: UInt8
    }

    package struct Route: Sendable {
        /// Empty for the default route.
        package var destination: [UInt8]
        package var prefixLength: UInt8
        package var isVersion6: Bool
        package var gateway: [UInt8]?
        package var interface: UInt32
        package var metric: UInt32
        package var table: UInt32
    }

    package struct Radio: Sendable {
        package var index: UInt32
        package var name: String
        /// `NL80211_IFTYPE_*`
        package var type: UInt32
        package var ssid: [UInt8]
        package var frequency: UInt32
        /// `NL80211_CHAN_WIDTH_*`
        package var width: UInt32
        package var station: Station?
        package var networks: [Network] = []
        package var channels: [Channel] = []
    }

    package struct Station: Sendable {
        package var address: [UInt8]
        package var signal: Int8
        /// The rate in units of 100 kilobits per second.
        package var transmitRate: UInt32
        package var receiveRate: UInt32
        package var retries: UInt32
        package var failures: UInt32
        package var beaconLosses: UInt32
        package var connectedSeconds: UInt32
    }

    package struct Network: Sendable {
        package var bssid: [UInt8]
        /// `NL80211_BSS_STATUS_*`; `nil`: not ours.
        package var status: UInt32?
        package var frequency: UInt32
        package var capability: UInt16
        package var elements: [UInt8]
    }

    package struct Channel: Sendable {
        package var frequency: UInt32
        package var noise: Int8
        package var isInUse: Bool
    }

    package var interfaces: [Interface] = []
    package var addresses: [Address] = []
    package var routes: [Route] = []
    /// The number that nl80211 has on this machine; `nil`: it has none.
    package var wirelessFamily: UInt16?
    package var radios: [Radio] = []
    /// Kernels before 4.7 do not report counters alone.
    package var hasStatistics = true

    package init() {}
}
