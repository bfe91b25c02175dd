/// The probability of a bit, learnt from the bits before it. The first bits change it most.
struct BitModel {
    /// Of a zero, in 1 / 32,768.
    private var chance: UInt16 = 1 << 14
    private var seen: UInt16 = 0

    @inline(__always)
    var zero: UInt32 { UInt32(chance) }

    static let bits: UInt32 = 15
    /// No bit is certain, so that each can be coded.
    private static let least: UInt32 = 24
    private static let greatest: UInt32 = (1 << bits) - least
    /// After n bits the probability moves by 1 / (n + 2) of the way, in the end by 1 / 32.
    private static let mostSeen: UInt16 = 30

    @inline(__always)
    mutating func note(_ bit: Int) {
        let rate = 65_536 / (UInt32(seen) + 2)
        if bit == 0 {
            chance = UInt16(min(zero + (((1 << BitModel.bits) - zero) * rate) >> 16, BitModel.greatest))
        } else {
            chance = UInt16(max(zero - (zero * rate) >> 16, BitModel.least))
        }
        if seen < BitModel.mostSeen { seen += 1 }
    }
}

/// Codes bits by their probabilities (a range coder with carries, as LZMA's).
struct RangeEncoder {
    private var low: UInt64 = 0
    private var range: UInt32 = .max
    private var held: UInt8 = 0
    /// Bytes of 0xFF behind `held` that a carry may still change.
    private var heldOnes = 0
    private var isBegun = false
    private var output: [UInt8] = []

    @inline(__always)
    mutating func encode(_ bit: Int, _ model: inout BitModel) {
        let bound = (range >> BitModel.bits) * model.zero
        if bit == 0 {
            range = bound
        } else {
            low += UInt64(bound)
            range -= bound
        }
        model.note(bit)
        normalize()
    }

    /// Bits that are as likely as not, at most 16.
    @inline(__always)
    mutating func encode(_ value: UInt64, plainBits: Int) {
        range >>= UInt32(plainBits)
        low += UInt64(range) * value
        normalize()
    }

    @inline(__always)
    private mutating func normalize() {
        while range < 1 << 24 {
            range <<= 8
            shift()
        }
    }

    private mutating func shift() {
        if low < 0xFF00_0000 || low > 0xFFFF_FFFF {
            let carry = UInt8(truncatingIfNeeded: low >> 32)
            if isBegun { output.append(held &+ carry) }
            isBegun = true
            for _ in 0..<heldOnes { output.append(0xFF &+ carry) }
            heldOnes = 0
            held = UInt8(truncatingIfNeeded: low >> 24)
        } else {
            heldOnes += 1
        }
        low = (low & 0x00FF_FFFF) << 8
    }

    /// Ends the stream with as few bytes as tell it apart. Zeros at the end are left out: a reader supplies them.
    mutating func finish() -> [UInt8] {
        for shift in stride(from: UInt64(31), through: 0, by: -1) {
            let step: UInt64 = 1 << shift
            let value = (low + step - 1) & ~(step - 1)
            if value < low + UInt64(range) {
                low = value
                break
            }
        }
        for _ in 0..<5 { shift() }
        while output.last == 0 { output.removeLast() }
        return output
    }
}

/// Reads what `RangeEncoder` wrote. Any bytes give bits, and never a trap: behind the end there are zeros.
struct RangeDecoder {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0
    private var code: UInt32 = 0
    private var range: UInt32 = .max

    /// The bytes must outlive the decoder.
    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
        for _ in 0..<4 { code = code << 8 | next() }
    }

    @inline(__always)
    private mutating func next() -> UInt32 {
        guard position < bytes.count else { return 0 }
        defer { position += 1 }
        return UInt32(bytes[position])
    }

    @inline(__always)
    mutating func decode(_ model: inout BitModel) -> Int {
        let bound = (range >> BitModel.bits) * model.zero
        let bit: Int
        if code < bound {
            range = bound
            bit = 0
        } else {
            code -= bound
            range -= bound
            bit = 1
        }
        model.note(bit)
        normalize()
        return bit
    }

    @inline(__always)
    mutating func decode(plainBits: Int) -> UInt64 {
        range >>= UInt32(plainBits)
        // Only damaged bytes have more.
        let value = min(code / range, 1 << UInt32(plainBits) - 1)
        code &-= value &* range
        normalize()
        return UInt64(value)
    }

    @inline(__always)
    private mutating func normalize() {
        while range < 1 << 24 {
            range <<= 8
            code = code << 8 | next()
        }
    }
}
