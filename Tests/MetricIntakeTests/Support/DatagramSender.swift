import Glibc

/// Sends packets to a socket of this machine, and never waits.
final class DatagramSender {
    private let descriptor: Int32

    /// - Parameter port: of 127.0.0.1.
    init(port: UInt16) {
        descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = port.bigEndian
        name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        Self.connect(descriptor, name)
    }

    init(path: String) {
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: Array(path.utf8).prefix($0.count - 1)) }
        Self.connect(descriptor, name)
    }

    deinit { close(descriptor) }

    private static func connect<Address>(_ descriptor: Int32, _ address: Address) {
        _ = withUnsafeBytes(of: address) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) {
                Glibc.connect(descriptor, $0.baseAddress, socklen_t(bytes.count))
            }
        }
    }

    /// - Returns: whether the kernel took it.
    @discardableResult func send(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        return Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }
}
