import Foundation

/// Listens on loopback and connects there, with plain sockets.
enum LoopbackPort {
    /// - Parameter backlog: `nil` binds only.
    static func listen(backlog: Int32?) throws -> (descriptor: Int32, port: Int) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw PostgresTestFailure("no socket is left") }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        var address = loopback(port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let failed = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, length) != 0 || getsockname(descriptor, address, &length) != 0
            }
        }
        if failed || (backlog.map { Glibc.listen(descriptor, $0) != 0 } ?? false) {
            close(descriptor)
            throw PostgresTestFailure("no port is free")
        }
        return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
    }

    static func connect(port: Int) throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw PostgresTestFailure("no socket is left") }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        var address = loopback(port: port)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else {
            close(descriptor)
            throw PostgresTestFailure("nobody listens on port \(port)")
        }
        return descriptor
    }

    private static func loopback(port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }
}
