import Crypto
import FoundationEssentials
import WireModel

/// A keyed hash of the machine id: tells a cloned disk from a restored one without giving the id itself away, which identifies the machine to
/// every program that reads it (machine-id(5) asks for just this).
enum MachineHash {
    static let path = "/etc/machine-id"
    private static let key = SymmetricKey(data: Data("ws1-telemetry machine id 1".utf8))

    /// Hexadecimal; `nil` for an empty or missing id, which says nothing.
    static func hash(ofMachineID machineID: String?) -> String? {
        guard let machineID, let first = machineID.split(whereSeparator: \.isWhitespace).first, first != "uninitialized" else { return nil }
        return Data(HMAC<SHA256>.authenticationCode(for: Data(first.utf8), using: key)).hexadecimal
    }

    /// Of the machine this runs on.
    static func ofThisMachine() -> String? {
        let bytes = try? Data(contentsOf: URL(filePath: path))
        return hash(ofMachineID: bytes.map { String(decoding: $0.prefix(256), as: UTF8.self) })
    }
}
