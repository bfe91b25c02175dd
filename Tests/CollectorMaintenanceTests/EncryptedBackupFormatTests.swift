import Foundation
import TelemetryBasics
import TestKit
import Testing

@testable import CollectorMaintenance
@testable import RecordStore

@Suite struct EncryptedBackupFormatTests {
    private let directory: TemporaryDirectory
    private let identity = BackupIdentity()

    init() throws { directory = try TemporaryDirectory() }

    private var path: String { directory.path + "/backup" }

    private static let block = EncryptedBackupFormat.blockBytes
    private static let sealedBlock = EncryptedBackupFormat.blockBytes + EncryptedBackupFormat.tagBytes
    private static func headerBytes(recipients: Int) -> Int {
        EncryptedBackupFormat.prologueBytes + recipients * EncryptedBackupFormat.recipientBytes
            + EncryptedBackupFormat.headerTagBytes
    }

    private static func content(_ count: Int) -> Data { Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }) }

    /// Written in pieces of an odd size.
    private func encrypted(_ content: Data, to recipients: [BackupRecipient]? = nil) throws -> Data {
        try? FileManager.default.removeItem(atPath: path)
        var writer = try EncryptedBackupWriter(
            try OpenFile<StoreError>(creating: path), recipients: recipients ?? [identity.recipient])
        for start in stride(from: 0, to: content.count, by: 7001) {
            try writer.write(content[start..<min(start + 7001, content.count)])
        }
        try writer.finish()
        return try Data(contentsOf: URL(fileURLWithPath: path))
    }

    private func decrypted(_ file: Data, with identities: [BackupIdentity]? = nil) throws -> Data {
        try file.write(to: URL(fileURLWithPath: path))
        var reader = try EncryptedBackupReader(path, identities: identities ?? [identity])
        var content = Data()
        while true {
            let some = try reader.read(5000)
            if some.isEmpty { return content }
            content += some
        }
    }

    /// What the reader says to a file; `nil` if it takes it.
    private func refusal(_ file: Data, with identities: [BackupIdentity]? = nil) -> StoreError? {
        do { _ = try decrypted(file, with: identities) } catch { return error as? StoreError }
        return nil
    }

    @Test(arguments: [1, 2, 65_535, 65_536, 65_537, 131_072, 200_000])
    func `What was encrypted comes back, and nothing of it is to be seen`(count: Int) throws {
        let content = Self.content(count)
        let file = try encrypted(content)
        #expect(try decrypted(file) == content)
        let blocks = (count + Self.block - 1) / Self.block
        #expect(file.count == Self.headerBytes(recipients: 1) + count + blocks * EncryptedBackupFormat.tagBytes)
        if count > 32 { #expect(file.range(of: content.prefix(32)) == nil) }
    }

    @Test func `Equal contents make files that share nothing but the recipients`() throws {
        let content = Self.content(100)
        let (one, two) = (try encrypted(content), try encrypted(content))
        #expect(one.prefix(46) == two.prefix(46))
        #expect(one[46..<78] != two[46..<78] && one[78..<126] != two[78..<126])
        #expect(one.suffix(116) != two.suffix(116))
    }

    @Test func `Each of several recipients opens it alone, and nobody else`() throws {
        let people = (0..<3).map { _ in BackupIdentity() }
        let content = Self.content(70_000)
        let file = try encrypted(content, to: people.map(\.recipient))
        for person in people { #expect(try decrypted(file, with: [person]) == content) }
        #expect(try decrypted(file, with: [identity, people[2]]) == content)
        let error = try #require(refusal(file, with: [identity]))
        #expect(error.code == .invalid)
        for recipient in people.map(\.recipient) + [identity.recipient] {
            #expect(error.message.contains("\(recipient)"))
        }
    }

    @Test(arguments: [0, 65]) func `The number of recipients has bounds`(count: Int) throws {
        let recipients = (0..<count).map { _ in identity.recipient }
        #expect { _ = try encrypted(Self.content(1), to: recipients) } throws: { ($0 as? StoreError)?.code == .invalid }
    }

    /// Keys of low order, with which X25519 gives a secret that everybody knows.
    @Test(arguments: [0, 1]) func `Nothing is encrypted to a key that gives no secret`(first: UInt8) throws {
        let weak = BackupRecipient(bytes: [first] + [UInt8](repeating: 0, count: 31))
        #expect { _ = try encrypted(Self.content(1), to: [weak]) } throws: { ($0 as? StoreError)?.code == .invalid }
    }

    @Test func `A file that was cut at any byte is refused`() throws {
        let file = try encrypted(Self.content(100))
        for count in 0..<file.count {
            let error = try #require(refusal(file.prefix(count)), "cut at \(count)")
            #expect(error.code == .corrupt, "cut at \(count): \(error)")
        }
    }

    @Test func `A file that was cut between its blocks says so`() throws {
        let file = try encrypted(Self.content(3 * Self.block))
        for blocks in 0..<3 {
            let cut = file.prefix(Self.headerBytes(recipients: 1) + blocks * Self.sealedBlock)
            let error = try #require(refusal(cut))
            #expect(error.message.contains("ends after \(cut.count) bytes") && error.message.contains("cut off"))
        }
    }

    @Test func `Each flipped bit is found`() throws {
        let file = try encrypted(Self.content(60))
        for place in file.indices {
            for bit in 0..<8 {
                var harmed = file
                harmed[place] ^= 1 << UInt8(bit)
                let error = try #require(refusal(harmed), "bit \(bit) of byte \(place)")
                // Another version is none that is damaged, and a changed key is that of somebody else.
                #expect([.corrupt, .newerVersion, .invalid].contains(error.code))
                if place >= 46 { #expect(error.code == .corrupt, "byte \(place): \(error)") }
            }
        }
    }

    @Test func `A block that was exchanged, doubled, left out or taken from another backup is found`() throws {
        let content = Self.content(3 * Self.block + 100)
        let file = try encrypted(content)
        let stranger = try encrypted(content)
        let start = Self.headerBytes(recipients: 1)
        func block(_ number: Int, of file: Data) -> Data {
            file[(start + number * Self.sealedBlock)..<min(start + (number + 1) * Self.sealedBlock, file.count)]
        }
        func joined(_ blocks: [Data]) -> Data { blocks.reduce(file.prefix(start)) { $0 + $1 } }
        let blocks = (0..<4).map { block($0, of: file) }
        #expect(refusal(joined(blocks)) == nil)
        for (changed, number) in [
            ([blocks[1], blocks[0], blocks[2], blocks[3]], 0), ([blocks[0], blocks[0], blocks[1], blocks[3]], 1),
            ([blocks[0], blocks[2], blocks[3]], 1), ([blocks[0], blocks[1], block(2, of: stranger), blocks[3]], 2),
        ] {
            let error = try #require(refusal(joined(changed)))
            #expect(error.code == .corrupt && error.message.contains("block \(number), at byte"), "\(error)")
        }
        let header = stranger.prefix(start) + blocks.reduce(Data(), +)
        #expect(refusal(header)?.code == .corrupt)
    }

    @Test func `Bytes behind the last block are found`() throws {
        for count in [100, Self.block] {
            let file = try encrypted(Self.content(count))
            #expect(refusal(file + Data([0]))?.code == .corrupt)
        }
        let whole = try encrypted(Self.content(Self.block))
        #expect(refusal(whole + Data([0]))?.message.contains("behind the last block") == true)
    }

    /// A recipient could be taken out of the header, or added to it, by somebody who can write the file.
    @Test func `A header with other recipients is refused`() throws {
        let other = BackupIdentity()
        var file = try encrypted(Self.content(10), to: [identity.recipient, other.recipient])
        file.removeSubrange(126..<238)
        file[13] = 1
        #expect(refusal(file)?.code == .corrupt)
    }
}
