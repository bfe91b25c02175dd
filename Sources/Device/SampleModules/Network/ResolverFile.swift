/// `resolv.conf(5)`: the name servers in use.
struct ResolverFile: Equatable {
    static let path = "/etc/resolv.conf"
    /// What systemd-resolved asks itself, where the file above names only its stub.
    static let resolvedPath = "/run/systemd/resolve/resolv.conf"
    /// The resolver takes three; more are somebody's notes.
    static let maximumServers = 16

    var servers: [String] = []

    init(_ bytes: UnsafeRawBufferPointer) {
        for line in CompleteLines(bytes) where servers.count < Self.maximumServers {
            var scanner = ByteScanner(line)
            // The keyword begins the line; what follows a second word is a comment.
            guard scanner.take("nameserver"), let server = scanner.word() else { continue }
            servers.append(server.text)
        }
    }

    /// Only systemd-resolved's own addresses: the real servers stand elsewhere.
    var isStub: Bool { !servers.isEmpty && servers.allSatisfy { $0 == "127.0.0.53" || $0 == "127.0.0.54" } }
}
