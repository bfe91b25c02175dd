import TestKit
import Testing

@testable import RecordBlocks

@Suite struct RangeCoderTests {
    @Test(arguments: [0.5, 0.9, 0.999, 0.001], [0, 1, 2, 100, 20_000])
    func `Bits come back`(probability: Double, count: Int) {
        var dice = SplitMix64(seed: 4)
        let bits = (0..<count).map { _ in dice.chance(probability) ? 1 : 0 }
        var encoder = RangeEncoder()
        var models = [BitModel](repeating: BitModel(), count: 3)
        for (place, bit) in bits.enumerated() {
            encoder.encode(bit, &models[place % 3])
            if place % 5 == 0 { encoder.encode(UInt64(place & 0xFFFF), plainBits: 16) }
        }
        let bytes = Pinned(encoder.finish())
        var decoder = RangeDecoder(bytes.buffer)
        models = [BitModel](repeating: BitModel(), count: 3)
        for (place, bit) in bits.enumerated() {
            #expect(decoder.decode(&models[place % 3]) == bit)
            if place % 5 == 0 { #expect(decoder.decode(plainBits: 16) == UInt64(place & 0xFFFF)) }
        }
    }

    @Test func `Bits that are nearly certain take nearly nothing`() {
        var encoder = RangeEncoder()
        var model = BitModel()
        for _ in 0..<100_000 { encoder.encode(0, &model) }
        #expect(encoder.finish().count < 50)
    }

    @Test func `Carries run through many bytes`() {
        for seed in 0..<200 as Range<UInt64> {
            var dice = SplitMix64(seed: seed)
            var encoder = RangeEncoder()
            // Ones in all plain bits keep the low end at 0xFF bytes, until a bit moves it.
            let values = (0..<60).map { _ in dice.chance(0.9) ? UInt64(0xFFFF) : dice.next() & 0xFFFF }
            for value in values { encoder.encode(value, plainBits: 16) }
            let bytes = Pinned(encoder.finish())
            var decoder = RangeDecoder(bytes.buffer)
            for value in values { #expect(decoder.decode(plainBits: 16) == value) }
        }
    }

    @Test func `Any bytes are bits`() {
        for seed in 0..<100 as Range<UInt64> {
            var dice = SplitMix64(seed: seed)
            let bytes = (0..<Int.random(in: 0...50, using: &dice)).map { _ in UInt8.random(in: 0...255, using: &dice) }
            let pinned = Pinned(bytes)
            var decoder = RangeDecoder(pinned.buffer)
            let model = ValueModel(lengths: 0...64)
            for _ in 0..<500 { #expect(model.decode(&decoder).magnitude.bitCount <= 64) }
        }
    }

    @Test(arguments: [0...0, 0...64, 3...3, 64...64, 1...12])
    func `Residuals of all lengths come back`(lengths: ClosedRange<Int>) {
        var dice = SplitMix64(seed: 1)
        let residuals = (0..<3000).map { _ -> Residual in
            let length = Int.random(in: lengths, using: &dice)
            guard length > 0 else { return Residual(magnitude: 0, isNegative: false) }
            let top = UInt64(1) << UInt64(length - 1)
            return Residual(magnitude: top | dice.next() & (top - 1), isNegative: dice.chance(0.3))
        }
        var encoder = RangeEncoder()
        var model = ValueModel(lengths: lengths)
        for residual in residuals { model.encode(residual, &encoder) }
        let bytes = Pinned(encoder.finish())
        var decoder = RangeDecoder(bytes.buffer)
        model = ValueModel(lengths: lengths)
        for residual in residuals { #expect(model.decode(&decoder) == residual) }
    }

    @Test(arguments: Predictor.allCases) func `Predictions can be undone for all values`(predictor: Predictor) {
        var dice = SplitMix64(seed: 2)
        let values = (0..<2000).map { _ in dice.next() >> UInt64.random(in: 0...63, using: &dice) }
        let others = (0..<2000).map { _ in dice.next() >> UInt64.random(in: 0...63, using: &dice) }
        var encoding = Prediction(predictor, base: 5, unit: predictor == .exclusiveOr ? 0 : 1)
        var decoding = encoding
        for (value, other) in zip(values, others) {
            #expect(decoding.value(encoding.wholeResidual(value, other), other) == value)
        }
    }
}

/// Bytes that stay where they are.
private final class Pinned {
    let buffer: UnsafeBufferPointer<UInt8>

    init(_ bytes: [UInt8]) {
        let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: bytes.count)
        _ = copy.initialize(from: bytes)
        buffer = UnsafeBufferPointer(copy)
    }

    deinit { buffer.deallocate() }
}
