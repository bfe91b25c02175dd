import Crypto
import Foundation

extension Data {
    /// A correlation that no other request has.
    static func random16() -> Data { Swift.withUnsafeBytes(of: UUID().uuid) { Data($0) } }

    var sha256: Data { Data(SHA256.hash(data: self)) }
}
