import Foundation
import SwiftProtobuf
import TestKit
import WireModel

/// A number that is legal on the wire and at the edge of what can be counted with or shown.
struct ExtremeNumber: Sendable {
    /// The value for fields of 64 bits; smaller ones use its last bits.
    let integer: UInt64
    let real: Double

    static let all = [
        ExtremeNumber(integer: 0, real: -0.0), ExtremeNumber(integer: 1, real: .leastNonzeroMagnitude),
        // -1 where the field has a sign.
        ExtremeNumber(integer: .max, real: -1), ExtremeNumber(integer: 1 << 53, real: 0x1p53),
        ExtremeNumber(integer: UInt64(Int64.max), real: .nan), ExtremeNumber(integer: 1 << 63, real: 0x1p63),
        ExtremeNumber(integer: (1 << 63) + 1, real: .infinity),
        ExtremeNumber(integer: .max - 1, real: -.infinity),
        ExtremeNumber(integer: UInt64(Int64.max) - 1, real: .greatestFiniteMagnitude),
    ]
}

/// Makes messages of any type, with one number in their fields.
///
/// It is a decoder that reads nothing: it answers that each field comes next, and gives each a value. A field that is
/// added to a message is filled without a word here. Which fields stay absent, which have a small number instead, and
/// which member of a `oneof` comes last is random, the same for the same seed.
struct ExtremeFiller: Decoder {
    private let number: ExtremeNumber
    private var random: SplitMix64
    /// The numbers of fields still to come, of each message that is being filled.
    private var toCome: [[Int]] = []

    /// Field numbers of the wire's messages are below this.
    private static let fieldNumbers = 1..<64
    private static let depth = 6

    init(_ number: ExtremeNumber, seed: UInt64) {
        (self.number, random) = (number, SplitMix64(seed: seed))
    }

    mutating func message<M: Message>(_: M.Type = M.self) -> M {
        var message = M()
        toCome.append(Self.fieldNumbers.shuffled(using: &random))
        // It throws what the decoder throws, which is nothing.
        try? message.decodeMessage(decoder: &self)
        toCome.removeLast()
        return message
    }

    // MARK: - Values

    private mutating func chance(oneIn count: Int) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }

    private mutating func integer() -> UInt64 { chance(oneIn: 4) ? 1 : number.integer }
    private mutating func real() -> Double { chance(oneIn: 4) ? 1 : number.real }
    private mutating func text() -> String {
        chance(oneIn: 2) ? "till.sales" : chance(oneIn: 2) ? "\(number.integer)" : "\(number.real)"
    }
    private mutating func bytes() -> Data { Data((0..<16).map { _ in UInt8.random(in: 0...255, using: &random) }) }
    private mutating func choice<E: Enum>() -> E where E.RawValue == Int {
        let value = chance(oneIn: 4) ? Int(Int32(truncatingIfNeeded: number.integer)) : 1
        return E(rawValue: value) ?? E()
    }

    private mutating func filled<M: Message>() -> M? { toCome.count < Self.depth ? message() : nil }

    // MARK: - Decoder

    mutating func handleConflictingOneOf() throws {}

    mutating func nextFieldNumber() throws -> Int? {
        var next = toCome[toCome.count - 1].popLast()
        while next != nil, chance(oneIn: 8) { next = toCome[toCome.count - 1].popLast() }
        return next
    }

    mutating func decodeSingularFloatField(value: inout Float) throws { value = Float(real()) }
    mutating func decodeSingularFloatField(value: inout Float?) throws { value = Float(real()) }
    mutating func decodeRepeatedFloatField(value: inout [Float]) throws { value.append(Float(real())) }
    mutating func decodeSingularDoubleField(value: inout Double) throws { value = real() }
    mutating func decodeSingularDoubleField(value: inout Double?) throws { value = real() }
    mutating func decodeRepeatedDoubleField(value: inout [Double]) throws { value += [real(), real()] }
    mutating func decodeSingularInt32Field(value: inout Int32) throws { value = Int32(truncatingIfNeeded: integer()) }
    mutating func decodeSingularInt32Field(value: inout Int32?) throws { value = Int32(truncatingIfNeeded: integer()) }
    mutating func decodeRepeatedInt32Field(value: inout [Int32]) throws {
        value += [Int32(truncatingIfNeeded: integer()), Int32(truncatingIfNeeded: integer())]
    }
    mutating func decodeSingularInt64Field(value: inout Int64) throws { value = Int64(truncatingIfNeeded: integer()) }
    mutating func decodeSingularInt64Field(value: inout Int64?) throws { value = Int64(truncatingIfNeeded: integer()) }
    mutating func decodeRepeatedInt64Field(value: inout [Int64]) throws {
        value += [Int64(truncatingIfNeeded: integer()), Int64(truncatingIfNeeded: integer())]
    }
    mutating func decodeSingularUInt32Field(value: inout UInt32) throws {
        value = UInt32(truncatingIfNeeded: integer())
    }
    mutating func decodeSingularUInt32Field(value: inout UInt32?) throws {
        value = UInt32(truncatingIfNeeded: integer())
    }
    mutating func decodeRepeatedUInt32Field(value: inout [UInt32]) throws {
        value += [UInt32(truncatingIfNeeded: integer()), UInt32(truncatingIfNeeded: integer())]
    }
    mutating func decodeSingularUInt64Field(value: inout UInt64) throws { value = integer() }
    mutating func decodeSingularUInt64Field(value: inout UInt64?) throws { value = integer() }
    mutating func decodeRepeatedUInt64Field(value: inout [UInt64]) throws { value += [integer(), integer()] }
    mutating func decodeSingularSInt32Field(value: inout Int32) throws { value = Int32(truncatingIfNeeded: integer()) }
    mutating func decodeSingularSInt32Field(value: inout Int32?) throws { value = Int32(truncatingIfNeeded: integer()) }
    mutating func decodeRepeatedSInt32Field(value: inout [Int32]) throws {
        value += [Int32(truncatingIfNeeded: integer()), Int32(truncatingIfNeeded: integer())]
    }
    mutating func decodeSingularSInt64Field(value: inout Int64) throws { value = Int64(truncatingIfNeeded: integer()) }
    mutating func decodeSingularSInt64Field(value: inout Int64?) throws { value = Int64(truncatingIfNeeded: integer()) }
    mutating func decodeRepeatedSInt64Field(value: inout [Int64]) throws {
        value += [Int64(truncatingIfNeeded: integer()), Int64(truncatingIfNeeded: integer())]
    }
    mutating func decodeSingularFixed32Field(value: inout UInt32) throws {
        value = UInt32(truncatingIfNeeded: integer())
    }
    mutating func decodeSingularFixed32Field(value: inout UInt32?) throws {
        value = UInt32(truncatingIfNeeded: integer())
    }
    mutating func decodeRepeatedFixed32Field(value: inout [UInt32]) throws {
        value += [UInt32(truncatingIfNeeded: integer()), UInt32(truncatingIfNeeded: integer())]
    }
    mutating func decodeSingularFixed64Field(value: inout UInt64) throws { value = integer() }
    mutating func decodeSingularFixed64Field(value: inout UInt64?) throws { value = integer() }
    mutating func decodeRepeatedFixed64Field(value: inout [UInt64]) throws { value += [integer(), integer()] }
    mutating func decodeSingularSFixed32Field(value: inout Int32) throws {
        value = Int32(truncatingIfNeeded: integer())
    }
    mutating func decodeSingularSFixed32Field(value: inout Int32?) throws {
        value = Int32(truncatingIfNeeded: integer())
    }
    mutating func decodeRepeatedSFixed32Field(value: inout [Int32]) throws {
        value += [Int32(truncatingIfNeeded: integer()), Int32(truncatingIfNeeded: integer())]
    }
    mutating func decodeSingularSFixed64Field(value: inout Int64) throws {
        value = Int64(truncatingIfNeeded: integer())
    }
    mutating func decodeSingularSFixed64Field(value: inout Int64?) throws {
        value = Int64(truncatingIfNeeded: integer())
    }
    mutating func decodeRepeatedSFixed64Field(value: inout [Int64]) throws {
        value += [Int64(truncatingIfNeeded: integer()), Int64(truncatingIfNeeded: integer())]
    }
    mutating func decodeSingularBoolField(value: inout Bool) throws { value = true }
    mutating func decodeSingularBoolField(value: inout Bool?) throws { value = true }
    mutating func decodeRepeatedBoolField(value: inout [Bool]) throws { value.append(true) }
    mutating func decodeSingularStringField(value: inout String) throws { value = text() }
    mutating func decodeSingularStringField(value: inout String?) throws { value = text() }
    mutating func decodeRepeatedStringField(value: inout [String]) throws { value.append(text()) }
    mutating func decodeSingularBytesField(value: inout Data) throws { value = bytes() }
    mutating func decodeSingularBytesField(value: inout Data?) throws { value = bytes() }
    mutating func decodeRepeatedBytesField(value: inout [Data]) throws { value.append(bytes()) }
    mutating func decodeSingularEnumField<E: Enum>(value: inout E) throws where E.RawValue == Int { value = choice() }
    mutating func decodeSingularEnumField<E: Enum>(value: inout E?) throws where E.RawValue == Int { value = choice() }
    mutating func decodeRepeatedEnumField<E: Enum>(value: inout [E]) throws where E.RawValue == Int {
        value.append(choice())
    }
    mutating func decodeSingularMessageField<M: Message>(value: inout M?) throws { value = filled() }
    mutating func decodeRepeatedMessageField<M: Message>(value: inout [M]) throws {
        for _ in 0..<2 { if let one: M = filled() { value.append(one) } }
    }
    mutating func decodeSingularGroupField<G: Message>(value: inout G?) throws { value = filled() }
    mutating func decodeRepeatedGroupField<G: Message>(value: inout [G]) throws {
        for _ in 0..<2 { if let one: G = filled() { value.append(one) } }
    }

    mutating func decodeMapField<KeyType, ValueType: MapValueType>(
        fieldType: _ProtobufMap<KeyType, ValueType>.Type, value: inout _ProtobufMap<KeyType, ValueType>.BaseType
    ) throws {
        var (key, one): (KeyType.BaseType?, ValueType.BaseType?)
        try KeyType.decodeSingular(value: &key, from: &self)
        try ValueType.decodeSingular(value: &one, from: &self)
        if let key, let one { value[key] = one }
    }

    mutating func decodeMapField<KeyType, ValueType>(
        fieldType: _ProtobufEnumMap<KeyType, ValueType>.Type,
        value: inout _ProtobufEnumMap<KeyType, ValueType>.BaseType
    ) throws where ValueType.RawValue == Int {
        var key: KeyType.BaseType?
        try KeyType.decodeSingular(value: &key, from: &self)
        if let key { value[key] = choice() }
    }

    mutating func decodeMapField<KeyType, ValueType>(
        fieldType: _ProtobufMessageMap<KeyType, ValueType>.Type,
        value: inout _ProtobufMessageMap<KeyType, ValueType>.BaseType
    ) throws {
        var key: KeyType.BaseType?
        try KeyType.decodeSingular(value: &key, from: &self)
        if let key { value[key] = filled() }
    }

    // The wire's messages have no extensions.
    mutating func decodeExtensionField(
        values: inout ExtensionFieldValueSet, messageType: any Message.Type, fieldNumber: Int
    ) throws {}
}
