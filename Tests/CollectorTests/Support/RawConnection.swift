import Foundation
import Glibc
import Testing

/// A TCP connection on loopback that says exactly the bytes it is given, for clients that do not behave. Blocking; use
/// off the cooperative pool.
///
/// Its timeout bounds a failing test and no passing one: what is promised is what comes, not how soon a busy machine
/// gets round to it.
final class RawConnection: Sendable {
    private static let timeoutSeconds = 300

    private let descriptor: Int32

    init(port: Int) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var timeout = timeval(tv_sec: Self.timeoutSeconds, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        try #require(result == 0)
    }

    deinit { close(descriptor) }

    /// Whether all of it was accepted; a connection that the other side has closed accepts no more.
    @discardableResult
    func send(_ bytes: Data) -> Bool {
        bytes.withUnsafeBytes { buffer in
            var sent = 0
            while sent < buffer.count {
                let count = Glibc.send(
                    descriptor, buffer.baseAddress?.advanced(by: sent), buffer.count - sent, Int32(MSG_NOSIGNAL))
                guard count > 0 else { return false }
                sent += count
            }
            return true
        }
    }

    @discardableResult
    func send(_ text: String) -> Bool { send(Data(text.utf8)) }

    /// Ends it from this side: whoever waits to receive on it gets what has come.
    func hangUp() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// Everything until the other side closes, and whether it did (`false`: nothing came for the timeout, or a reset).
    func receiveToEnd() -> (text: String, ended: Bool) { receive { _ in false } }

    /// Everything up to a text, or to the end where it does not come.
    func receive(until text: String) -> String { receive { String(decoding: $0, as: UTF8.self).contains(text) }.text }

    private func receive(until isEnough: (Data) -> Bool) -> (text: String, ended: Bool) {
        var received = Data()
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while !isEnough(received) {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count == 0 { return (String(decoding: received, as: UTF8.self), true) }
            guard count > 0 else { break }
            received.append(contentsOf: buffer[..<count])
        }
        return (String(decoding: received, as: UTF8.self), false)
    }
}
