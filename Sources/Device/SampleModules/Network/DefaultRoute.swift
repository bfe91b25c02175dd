import WireModel

/// The route for packets that no other route takes.
package enum DefaultRoute {
    /// A typical machine's table has a few kilobytes. Of a router's table the beginning is enough.
    static let maximumBytes = 512 * 1024

    /// The interface of the main table's default route with the lowest metric. Uses IPv6 if IPv4 has none.
    ///
    /// VPNs put their routes beside the main table or use more specific ones. The main table names the interface that
    /// carries the VPN and may cost money. Costs some ten microseconds on a machine with few routes.
    /// - Returns: `nil` if there is no such route (the machine is offline), or if nothing can be read.
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

    /// The main table's working default routes, preferred ones first.
    static func defaults(of messages: NetlinkMessages) -> [RouteMessage] {
        var routes: [RouteMessage] = []
        for message in messages {
            guard let route = RouteMessage(message), route.isDefault, route.table == RouteMessage.mainTable,
                !route.hops.isEmpty
            else {
                continue
            }
            // Keeps the order of equal metrics, because the kernel lists the route that it uses first.
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
