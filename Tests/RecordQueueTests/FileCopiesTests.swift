import Foundation
import SQLite
import Testing
import WireModel

@testable import RecordQueue

@Suite("The copies of files")
struct FileCopiesTests {
    @Test
    func `Are there after every opening, and one replaced by another is written over in the file`() async throws {
        let fixture = try QueueFixture()
        var queue = try fixture.open()
        #expect(try queue.copy(of: .identity) == nil)
        let first = Data("first secret of this device".utf8)
        try queue.keepCopy(first, of: .identity)
        await queue.close()
        queue = try fixture.open()
        #expect(try queue.copy(of: .identity) == first)
        let commits = try await queue.status().commits
        try queue.keepCopy(first, of: .identity)
        #expect(try await queue.status().commits == commits, "the same copy is not written again")
        try queue.keepCopy(Data("left".utf8), of: .identity)
        #expect(try queue.copy(of: .identity) == Data("left".utf8))
        await queue.close()
        #expect(try Data(contentsOf: URL(fileURLWithPath: fixture.database)).range(of: first) == nil)
        #expect(throws: QueueError.self) { try queue.copy(of: .identity) }
    }

    @Test
    func `Of two files are apart: one that changes leaves the other as it is`() async throws {
        let fixture = try QueueFixture()
        var queue = try fixture.open()
        try queue.keepCopy(Data("denied".utf8), of: .consent)
        #expect(try queue.copy(of: .identity) == nil)
        for text in ["first", "second"] { try queue.keepCopy(Data(text.utf8), of: .identity) }
        await queue.close()
        queue = try fixture.open()
        #expect(try queue.copy(of: .consent) == Data("denied".utf8))
        #expect(try queue.copy(of: .identity) == Data("second".utf8))
        await queue.close()
    }

    @Test
    func `Go over into the file that takes a corrupt one's place, and so does the end of an epoch leave them`()
        async throws
    {
        for end in [EpochEnd.wiped, .reboundSend, .reboundDrop] {
            let fixture = try QueueFixture()
            var queue = try fixture.open()
            for text in ["first", "second"] {
                for file in CopiedFile.allCases { try queue.keepCopy(Data("\(text) \(file)".utf8), of: file) }
            }
            try await queue.endEpoch(end)
            try await queue.rebind(to: nil)
            for file in CopiedFile.allCases { #expect(try queue.copy(of: file) == Data("second \(file)".utf8)) }
            await queue.close()
            let connection = try Connection(path: fixture.database)
            try connection.execute("DROP TABLE gap")
            try connection.close()
            queue = try fixture.open()
            #expect(try await queue.status().replacements == 1)
            for file in CopiedFile.allCases { #expect(try queue.copy(of: file) == Data("second \(file)".utf8)) }
            await queue.close()
        }
    }

    @Test
    func
        `The copy of a directory that nobody holds can be read; a held directory or one without a queue is reported`()
        async throws
    {
        let fixture = try QueueFixture()
        #expect(try RecordQueue.copy(of: .consent, inDirectory: fixture.directory) == nil)
        let queue = try fixture.open()
        try queue.keepCopy(Data("denied".utf8), of: .consent)
        #expect(throws: QueueError.self) { try RecordQueue.copy(of: .consent, inDirectory: fixture.directory) }
        await queue.close()
        let before = try Data(contentsOf: URL(fileURLWithPath: fixture.database))
        #expect(try RecordQueue.copy(of: .consent, inDirectory: fixture.directory) == Data("denied".utf8))
        #expect(try RecordQueue.copy(of: .identity, inDirectory: fixture.directory) == nil)
        #expect(try Data(contentsOf: URL(fileURLWithPath: fixture.database)) == before)
    }
}
