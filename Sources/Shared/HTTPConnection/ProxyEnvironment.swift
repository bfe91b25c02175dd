import Glibc

/// The HTTP proxies that the environment names, read as curl and most programs do.
///
/// `https_proxy` is for servers with https, `http_proxy` for those with http. `no_proxy` lists servers to reach
/// directly. Names in capitals count too; where both are set, the lower case one counts. An empty variable counts as
/// not set. `localhost`, `127.0.0.1` and `::1` are always reached directly.
package struct ProxyEnvironment: Equatable, Sendable {
    private let variables: [String: String]

    /// - Parameter environment: the process's, or part of it. The default names no proxy.
    package init(_ environment: [String: String] = [:]) {
        let names = ["http_proxy", "https_proxy", "no_proxy"].flatMap { [$0, $0.uppercased()] }
        variables = environment.filter { names.contains($0.key) && !$0.value.isEmpty }
    }

    /// The proxy on the way to a server; `nil` to reach it directly.
    /// - Throws: `invalidProxyURL` with the variable's name, without its value.
    package func proxy(for server: EndpointURL) throws(ConnectionSettingsError) -> EndpointURL? {
        guard let (variable, text) = value("\(server.scheme.rawValue)_proxy"), !isDirect(server) else { return nil }
        return try EndpointURL(proxy: text, variable: variable)
    }

    private func value(_ name: String) -> (name: String, text: String)? {
        for name in [name, name.uppercased()] {
            if let text = variables[name] { return (name, text) }
        }
        return nil
    }

    private func isDirect(_ server: EndpointURL) -> Bool {
        let host = Host(server.host)
        if ["localhost", "127.0.0.1", "::1"].contains(where: { Host($0) == host }) { return true }
        let entries = value("no_proxy")?.text.split { $0 == "," || $0.isWhitespace } ?? []
        return entries.contains { Self.matches($0, host, port: server.port) }
    }

    /// - Parameter entry: `*`, a name that stands for its subdomains too, an address, or a network such as
    ///   `10.0.0.0/8`. A name or an address may have a port.
    private static func matches(_ entry: Substring, _ host: Host, port: Int) -> Bool {
        if entry == "*" { return true }
        let parts = entry.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        if parts.count == 2 {
            guard case .address(let network) = Host(parts[0]), case .address(let address) = host,
                let bits = Int(parts[1]), (0...network.count * 8).contains(bits), network.count == address.count
            else { return false }
            return zip(network, address).enumerated().allSatisfy { place, bytes in
                let kept = min(8, max(0, bits - place * 8))
                return (bytes.0 ^ bytes.1) >> UInt8(8 - kept) == 0
            }
        }
        let (name, wanted) = split(entry)
        if let wanted, wanted != port { return false }
        switch (Host(name), host) {
        case (.address(let given), .address(let address)): return given == address
        case (.name(let given), .name(let name)):
            let domain =
                given.hasPrefix("*.") ? given.dropFirst(2) : given.hasPrefix(".") ? given.dropFirst() : given[...]
            return !domain.isEmpty && (name == domain || name.hasSuffix(".\(domain)"))
        default: return false
        }
    }

    /// Removes a port. An IPv6 address has its port only behind brackets.
    private static func split(_ entry: Substring) -> (name: Substring, port: Int?) {
        if entry.hasPrefix("["), let end = entry.lastIndex(of: "]") {
            let rest = entry[entry.index(after: end)...]
            return (
                entry[entry.index(after: entry.startIndex)..<end], rest.hasPrefix(":") ? Int(rest.dropFirst()) : nil
            )
        }
        guard let colon = entry.lastIndex(of: ":"), entry.firstIndex(of: ":") == colon,
            let port = Int(entry[entry.index(after: colon)...])
        else { return (entry, nil) }
        return (entry[..<colon], port)
    }

    private enum Host: Equatable {
        /// A name in lower case, without a trailing dot.
        case name(String)
        /// 4 or 16 bytes.
        case address([UInt8])

        init(_ text: some StringProtocol) {
            let text = String(text)
            var four = in_addr()
            var six = in6_addr()
            if inet_pton(AF_INET, text, &four) == 1 {
                self = .address(withUnsafeBytes(of: four) { [UInt8]($0) })
            } else if inet_pton(AF_INET6, text, &six) == 1 {
                self = .address(withUnsafeBytes(of: six) { [UInt8]($0) })
            } else {
                self = .name((text.hasSuffix(".") ? String(text.dropLast()) : text).lowercased())
            }
        }
    }
}
