import WireModel

/// Where packets leave that no other route takes.
package enum DefaultRoute {
    /// A home machine's tables are a few kilobytes; of a router's the beginning is enough.
    static let maximumBytes = 512 * 1024

    /// The interface of the main table's default route with the lowest metric; of IPv6 where IPv4 has none.
    ///
    /// The main table's, because VPNs put theirs beside it (more specific routes or tables of their own): what carries
    /// them, and may be paid for, is what is asked for here. Costs some ten microseconds on a machine with few routes.
    /// - Returns: `nil` where there is none (the machine is off line), or nothing can be told.
    package static func interface(host: any HostSource) -> String? {
        var buffer = FileBuffer()
        for family in [IPAddress.version4, IPAddress.version6] {
            let routes = routes(family, host: host, buffer: &buffer)
            if let index = routes.first?.hops.first?.interface,
                let name = name(of: index, host: host, buffer: &buffer)
            {
                return name
            }
        }
        return nil
    }

    /// The main table's default routes that work, the preferred first.
    static func defaults(of messages: NetlinkMessages) -> [RouteMessage] {
        var routes: [RouteMessage] = []
        for message in messages {
            guard let route = RouteMessage(message), route.isDefault, route.table == RouteMessage.mainTable,
                !route.hops.isEmpty
            else {
                continue
            }
            // Kept in order as they come: of equals the kernel lists the one it takes first.
            routes.insert(route, at: routes.firstIndex { $0.metric > route.metric } ?? routes.endIndex)
        }
        return routes
    }

    private static func routes(_ family: UInt8, host: any HostSource, buffer: inout FileBuffer) -> [RouteMessage] {
        switch host.exchange(RouteMessage.main(family), into: &buffer, maximumBytes: maximumBytes) {
        case .complete, .truncated: buffer.withBytes { defaults(of: NetlinkMessages($0)) }
        case .absent, .denied, .failed: []
        }
    }

    private static func name(of index: UInt32, host: any HostSource, buffer: inout FileBuffer) -> String? {
        guard host.exchange(LinkMessage.one(index), into: &buffer, maximumBytes: 64 * 1024) == .complete else {
            return nil
        }
        return buffer.withBytes { bytes in
            NetlinkMessages(bytes).lazy.compactMap { LinkMessage($0) }.first { $0.index == index }?.name
        }
    }
}
