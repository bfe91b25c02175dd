import TelemetryBasics

/// A server on another machine is reached over TLS that verifies it, unless the administrator allows plaintext.
///
/// Without verification anybody on the way can pose as the server. libpq's default, `prefer`, does not verify and even
/// goes on without TLS.
enum PostgresTransportRule {
    private static let verifyingModes: Set = ["verify-ca", "verify-full"]

    /// - Parameter settings: those of the connection string, with libpq's defaults for the rest.
    /// - Throws: `.configuration`, naming the host.
    static func check(_ settings: [String: String]) throws(PostgresError) {
        let mode = settings["sslmode"] ?? "prefer"
        guard !verifyingModes.contains(mode), let host = remoteHost(settings) else { return }
        throw PostgresError(
            .configuration,
            "PostgreSQL at \(host) is on another machine, and sslmode=\(mode) does not verify that it is the right "
                + "server. Use sslmode=verify-full with sslrootcert, or allow plaintext where the network itself is "
                + "protected.")
    }

    /// The first host that is not this machine. `hostaddr` outranks `host`, as in libpq; both may be lists. An empty
    /// host and one that begins with `/` or `@` is a socket of this machine.
    private static func remoteHost(_ settings: [String: String]) -> String? {
        func list(_ keyword: String) -> [String] {
            (settings[keyword] ?? "").split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        let names = list("host")
        let addresses = list("hostaddr")
        let hosts = (0..<max(names.count, addresses.count)).map { index in
            let address = index < addresses.count ? addresses[index] : ""
            return address.isEmpty ? (index < names.count ? names[index] : "") : address
        }
        if let service = settings["service"], hosts.allSatisfy(\.isEmpty) { return "the service \(service)" }
        return hosts.first { !$0.isEmpty && !$0.hasPrefix("/") && !$0.hasPrefix("@") && !LoopbackHost.contains($0) }
    }
}
