/// Codes the residuals of one column. It learns how long they are, and the first bits of each length.
///
/// ```
/// residual -37  =  length 6  |  sign -  |  00101, the bits below the first
///                  learnt       learnt     two learnt for this length, the others plain
/// ```
final class ValueModel {
    /// The shortest and the longest residual of the column, in bits; 0 is the length of zero.
    let lengths: ClosedRange<Int>
    private let treeBits: Int
    /// The tree of lengths, the sign, and the first bits of each length.
    private let models: UnsafeMutableBufferPointer<BitModel>
    private let sign: UnsafeMutablePointer<BitModel>
    private let tree: UnsafeMutablePointer<BitModel>
    private let first: UnsafeMutablePointer<BitModel>

    private static let learntBits = 2

    init(lengths: ClosedRange<Int>) {
        self.lengths = lengths
        treeBits = (lengths.count - 1).bitCount
        let treeCount = 1 << treeBits
        models = .allocate(capacity: 1 + treeCount + (lengths.upperBound + 1) << ValueModel.learntBits)
        models.initialize(repeating: BitModel())
        sign = models.baseAddress.unsafelyUnwrapped
        tree = sign + 1
        first = tree + treeCount
    }

    deinit { models.deallocate() }

    @inline(__always)
    func encode(_ residual: Residual, _ encoder: inout RangeEncoder) {
        let length = residual.magnitude.bitCount
        let symbol = length - lengths.lowerBound
        var node = 1
        for shift in stride(from: treeBits - 1, through: 0, by: -1) {
            let bit = symbol >> shift & 1
            encoder.encode(bit, &tree[node])
            node = node << 1 | bit
        }
        guard length > 0 else { return }
        encoder.encode(residual.isNegative ? 1 : 0, &sign.pointee)
        var rest = length - 1
        node = 1
        for _ in 0..<min(rest, ValueModel.learntBits) {
            rest -= 1
            let bit = Int(residual.magnitude >> UInt64(rest) & 1)
            encoder.encode(bit, &first[length << ValueModel.learntBits | node])
            node = node << 1 | bit
        }
        while rest > 0 {
            let bits = min(rest, 16)
            rest -= bits
            encoder.encode(residual.magnitude >> UInt64(rest) & (1 << UInt64(bits) - 1), plainBits: bits)
        }
    }

    @inline(__always)
    func decode(_ decoder: inout RangeDecoder) -> Residual {
        var node = 1
        for _ in 0..<treeBits { node = node << 1 | decoder.decode(&tree[node]) }
        // Only damaged bytes have a longer one.
        let length = min(node - 1 << treeBits + lengths.lowerBound, lengths.upperBound)
        guard length > 0 else { return Residual(magnitude: 0, isNegative: false) }
        let isNegative = decoder.decode(&sign.pointee) == 1
        var magnitude: UInt64 = 1
        var rest = length - 1
        node = 1
        for _ in 0..<min(rest, ValueModel.learntBits) {
            rest -= 1
            let bit = decoder.decode(&first[length << ValueModel.learntBits | node])
            node = node << 1 | bit
            magnitude = magnitude << 1 | UInt64(bit)
        }
        while rest > 0 {
            let bits = min(rest, 16)
            rest -= bits
            magnitude = magnitude << UInt64(bits) | decoder.decode(plainBits: bits)
        }
        return Residual(magnitude: magnitude, isNegative: isNegative)
    }
}

/// How far a value lies from its prediction, in units of the column.
struct Residual: Equatable {
    var magnitude: UInt64
    var isNegative: Bool

    init(magnitude: UInt64, isNegative: Bool) {
        self.magnitude = magnitude
        self.isNegative = isNegative
    }

    /// The difference of two values, which wraps around at 64 bits.
    @inline(__always)
    init(of value: UInt64, from predicted: UInt64) {
        let difference = Int64(bitPattern: value &- predicted)
        self.init(magnitude: difference.magnitude, isNegative: difference < 0)
    }

    @inline(__always)
    func value(from predicted: UInt64, unit: UInt64) -> UInt64 {
        let distance = magnitude &* unit
        return isNegative ? predicted &- distance : predicted &+ distance
    }
}

extension FixedWidthInteger {
    /// The least number of bits that holds it; 0 for zero.
    @inline(__always)
    var bitCount: Int { Self.bitWidth - leadingZeroBitCount }
}
