import Glibc
import Synchronization

/// Ports of 127.0.0.1 that nobody uses at this instant, for programs that are told their port.
///
/// They lie below the range from which the kernel gives ports to outgoing connections. So a server that is started
/// later, or again, finds its port free. Safe from any thread.
package enum FreePorts {
    private static let given = Mutex<Set<Int>>([])

    /// A port that nobody else in this process gets.
    package static func one() throws -> Int { try reserve(1)[0] }

    package static func reserve(_ count: Int) throws -> [Int] {
        var ports: [Int] = []
        for _ in 0..<1000 where ports.count < count {
            let port = Int.random(in: 12_000..<32_000)
            if given.withLock({ $0.insert(port).inserted }), isFree(port) { ports.append(port) }
        }
        guard ports.count == count else { throw NoFreePort() }
        return ports
    }

    private static func isFree(_ port: Int) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        address.sin_addr = in_addr(s_addr: in_addr_t(UInt32(0x7F00_0001).bigEndian))
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}

package struct NoFreePort: Error, CustomStringConvertible {
    package var description: String { "no port of 127.0.0.1 is free" }
}
