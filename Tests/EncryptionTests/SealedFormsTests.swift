import Crypto
import Foundation
import TestKit
import Testing
import WireModel

@testable import Encryption

/// Envelopes, records and log runs. The golden vectors were made by another implementation (Python's cryptography).
@Suite struct SealedFormsTests {
    private static let key = DataKey(
        id: 0x12345, purpose: .state, secret: SymmetricKey(data: Data(UInt8(32)..<64)))

    private static func bytes(_ hexadecimal: String) -> Data { Data(hexadecimal: hexadecimal) ?? Data() }

    private static func code(_ body: () throws(EncryptionError) -> Void) -> EncryptionError.Code? {
        do throws(EncryptionError) { try body() } catch { return error.code }
        return nil
    }

    /// Each copy of the bytes with one bit flipped, and each beginning of them.
    private static func damaged(_ sealed: Data) -> [Data] {
        let flipped = (0..<sealed.count * 8).map { bit in
            var copy = sealed
            copy[bit / 8] ^= 1 << (bit % 8)
            return copy
        }
        return flipped + (0..<sealed.count).map { Data(sealed.prefix($0)) }
    }

    // MARK: Golden vectors

    private static let envelope = bytes(
        "575331530104000123456465666768696a6b6c6d6e6fc105ebf3bcc391a9b93aabb1eb7b022d350b374f8aa9c89af741118c7305")
    private static let record = bytes(
        "6465666768696a6b6c6d6e6f7da44418137c3a020c850d0b5ec248babbe786114cae0e98d43dc025395514ce3a15a3d3367d")
    private static let place = SealedRecord.Place(stream: .event, number: 77, queueTime: 1_234_567_890, size: 6)
    private static let runHead = bytes(
        "5753314c0100012345404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f")
    private static let blocks = [
        bytes("0000000b8515bdb650c00e75d96a716ad353a33f14c0dd99d230e401744b55"),
        bytes("0000000ad20652061c59bf5d4804dd9de6afb8cda9611e5f6f7eebf49d68"),
    ]

    @Test func `What another implementation sealed is opened`() throws {
        #expect(try Envelope.open(Self.envelope, label: "identity", with: Self.key) == Data("the credential".utf8))
        let record = try SealedRecord.open(Self.record, at: Self.place, with: Self.key)
        #expect(record.link == ChainLink(UInt8(200)..<216) && record.bytes == Data("record".utf8))
        let reader = try SealedLogRun.Reader(head: Self.runHead, segment: 5, key: Self.key)
        #expect(try reader.open(Self.blocks[0], number: 0) == Data("first line\n".utf8))
        #expect(try reader.open(Self.blocks[1], number: 1, isLast: true) == Data("last line\n".utf8))
    }

    @Test func `Keys are wrapped and named as another implementation does it`() throws {
        let device = SymmetricKey(data: Data(UInt8(0)..<32))
        let key = DataKey(id: 0x12345, purpose: .application, secret: Self.key.secret)
        let wrapped = Self.bytes("f85fe4ab8c16e04582b21ec7f17170a3858168b33580a4088b81762b142342111667f7811e9056ac")
        #expect(try key.wrapped(by: device) == wrapped)
        #expect(key.secret.fingerprint == "6ea2b776253e9d60ea3bf06b0d400b7c")
        #expect(DataKey(id: 0x12345, purpose: .application, wrapped: wrapped, by: device)?.secret == key.secret)
        #expect(DataKey(id: 0x12346, purpose: .application, wrapped: wrapped, by: device) == nil, "another id")
        #expect(DataKey(id: 0x12345, purpose: .queue, wrapped: wrapped, by: device) == nil, "another purpose")
        for damaged in Self.damaged(wrapped) {
            #expect(DataKey(id: 0x12345, purpose: .application, wrapped: damaged, by: device) == nil)
        }
        let parameters = PasscodeParameters(salt: Data(UInt8(0)..<16).hexadecimal, rounds: 210_000)
        let derived = try parameters.key(of: "correct horse").withUnsafeBytes { Data($0) }
        #expect(derived == Self.bytes("978a6aaf4515ab18961276c60c157ffe1cde55c07b660b059ebe59f926582188"))
    }

    // MARK: Damage

    @Test func `Every flipped bit and every cut is found, and no byte is returned`() throws {
        for damaged in Self.damaged(Self.envelope) {
            #expect(
                Self.code { () throws(EncryptionError) in
                    _ = try Envelope.open(damaged, label: "identity", with: Self.key)
                } != nil)
        }
        for damaged in Self.damaged(Self.record) {
            #expect(
                Self.code { () throws(EncryptionError) in
                    _ = try SealedRecord.open(damaged, at: Self.place, with: Self.key)
                } == .altered)
        }
        let reader = try SealedLogRun.Reader(head: Self.runHead, segment: 5, key: Self.key)
        for damaged in Self.damaged(Self.blocks[0]) {
            #expect(Self.code { () throws(EncryptionError) in _ = try reader.open(damaged, number: 0) } == .altered)
        }
        for damaged in Self.damaged(Self.runHead) {
            #expect(
                Self.code { () throws(EncryptionError) in
                    let reader = try SealedLogRun.Reader(head: damaged, segment: 5, key: Self.key)
                    _ = try reader.open(Self.blocks[0], number: 0)
                } != nil)
        }
    }

    @Test func `Sealed bytes open at their own place only`() throws {
        #expect(
            Self.code { () throws(EncryptionError) in
                _ = try Envelope.open(Self.envelope, label: "profile.json", with: Self.key)
            } == .altered)
        var places = Array(repeating: Self.place, count: 4)
        places[0].stream = .sample
        places[1].number += 1
        places[2].queueTime += 1
        places[3].size -= 1
        for place in places {
            #expect(
                Self.code { () throws(EncryptionError) in
                    _ = try SealedRecord.open(Self.record, at: place, with: Self.key)
                } == .altered)
        }
        let reader = try SealedLogRun.Reader(head: Self.runHead, segment: 5, key: Self.key)
        let other = try SealedLogRun.Reader(head: Self.runHead, segment: 6, key: Self.key)
        #expect(Self.code { () throws(EncryptionError) in _ = try reader.open(Self.blocks[0], number: 1) } == .altered)
        #expect(Self.code { () throws(EncryptionError) in _ = try reader.open(Self.blocks[1], number: 1) } == .altered)
        #expect(Self.code { () throws(EncryptionError) in _ = try other.open(Self.blocks[0], number: 0) } == .altered)
    }

    @Test func `Another key is said as such, and other bytes too`() {
        let other = DataKey(id: 7, purpose: .state, secret: SymmetricKey(size: .bits256))
        let twin = DataKey(id: 0x12345, purpose: .state, secret: SymmetricKey(size: .bits256))
        #expect(
            Self.code { () throws(EncryptionError) in
                _ = try Envelope.open(Self.envelope, label: "identity", with: other)
            } == .keyGone)
        #expect(
            Self.code { () throws(EncryptionError) in
                _ = try Envelope.open(Self.envelope, label: "identity", with: twin)
            } == .altered)
        #expect(
            Self.code { () throws(EncryptionError) in
                _ = try Envelope.keyID(of: Data("plain text that is long enough for an envelope".utf8), purpose: .state)
            } == .notSealed)
        var newer = Self.envelope
        newer[4] = 2
        #expect(
            Self.code { () throws(EncryptionError) in
                _ = try Envelope.keyID(of: newer, purpose: .state)
            } == .newerVersion)
    }

    // MARK: Properties

    @Test(arguments: [1, 2, 3]) func `What is sealed opens, and no seal is made twice`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var seen: Set<Data> = []
        for size in [0, 1, 15, 16, 17, 4096] + (0..<20).map({ _ in Int.random(in: 0...20_000, using: &random) }) {
            let plain = Data((0..<size).map { _ in UInt8.random(in: 0...255, using: &random) })
            for _ in 0..<2 {
                let sealed = try Envelope.seal(plain, label: "a", with: Self.key)
                #expect(sealed.count == plain.count + Envelope.overhead)
                #expect(try Envelope.open(sealed, label: "a", with: Self.key) == plain)
                #expect(seen.insert(sealed.prefix(22)).inserted, "a nonce came twice")
            }
            let place = SealedRecord.Place(
                stream: .sample, number: random.next(), queueTime: Int64(size), size: plain.count)
            let link = try #require(ChainLink(UInt8(0)..<16))
            let record = try SealedRecord.seal(link: link, bytes: plain, at: place, with: Self.key)
            #expect(record.count == plain.count + SealedRecord.overhead)
            let opened = try SealedRecord.open(record, at: place, with: Self.key)
            #expect(opened.link == link && opened.bytes == plain)
        }
    }

    @Test func `Each run of log blocks has a salt of its own, and its blocks open in any order`() throws {
        var writer = SealedLogRun.Writer(segment: 9, key: Self.key)
        let lines = (0..<5).map { Data("line \($0)\n".utf8) }
        let head = writer.head
        var blocks: [Data] = []
        for (index, line) in lines.enumerated() { blocks.append(try writer.seal(line, isLast: index == 4)) }
        let reader = try SealedLogRun.Reader(head: head, segment: 9, key: Self.key)
        for index in [4, 0, 3, 1, 2] {
            #expect(SealedLogRun.Reader.size(ofBlock: blocks[index]) == blocks[index].count)
            #expect(try reader.open(blocks[index], number: UInt64(index), isLast: index == 4) == lines[index])
        }
        let second = SealedLogRun.Writer(segment: 9, key: Self.key)
        let secondHead = second.head
        #expect(head != secondHead)
        #expect(try SealedLogRun.keyID(of: secondHead) == Self.key.id)
    }
}
