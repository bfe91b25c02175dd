import Crypto
import FoundationEssentials
import NIOCore
import WireModel

/// The parts of one request, taken in their order. Pure.
struct PartSequence {
    enum Step: Equatable {
        case taken
        /// The last part is taken, and the whole is as announced.
        case complete
        /// It was taken before: QoS 1 may deliver a message twice.
        case repeated
        /// The parts do not fit together. The request cannot go on.
        case broken(String)
    }

    static let counts = 2...1024

    let count: Int
    /// Bytes of the whole body.
    let length: Int
    private let digest: String
    private var hash = SHA256()
    private var bytes = 0
    private var newest = 0

    /// - Parameters:
    ///   - count: one of `counts`.
    ///   - digest: SHA-256 of the whole body in lower case hexadecimal.
    init(count: Int, length: Int, digest: String) {
        (self.count, self.length, self.digest) = (count, length, digest)
    }

    /// - Parameter number: from 1.
    mutating func take(_ number: Int, of announced: Int, _ part: ByteBuffer) -> Step {
        guard announced == count else {
            return .broken("part \(number) is of \(announced), and the first one of \(count)")
        }
        guard (1...count).contains(number) else { return .broken("there is no part \(number) of \(count)") }
        guard number > newest else { return .repeated }
        guard number == newest + 1 else { return .broken("part \(number) came after part \(newest)") }
        guard part.readableBytes <= length - bytes else { return .broken("its parts have more than \(length) bytes") }
        part.withUnsafeReadableBytes { hash.update(bufferPointer: $0) }
        bytes += part.readableBytes
        newest = number
        guard newest == count else { return .taken }
        guard bytes == length else { return .broken("its parts have \(bytes) bytes, and \(length) were announced") }
        return Data(hash.finalize()).hexadecimal == digest ? .complete : .broken("its SHA-256 differs from :digest")
    }
}
