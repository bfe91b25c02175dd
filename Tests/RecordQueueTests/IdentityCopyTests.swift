import Foundation
import SQLite
import Testing
import WireModel

@testable import RecordQueue

@Suite("The copy of the identity")
struct IdentityCopyTests {
    @Test("Is there after every opening, and one replaced by another is written over in the file")
    func kept() async throws {
        let fixture = try QueueFixture()
        var queue = try fixture.open()
        #expect(try queue.identityCopy() == nil)
        let first = Data("first secret of this device".utf8)
        try queue.keepIdentityCopy(first)
        await queue.close()
        queue = try fixture.open()
        #expect(try queue.identityCopy() == first)
        let commits = try await queue.status().commits
        try queue.keepIdentityCopy(first)
        #expect(try await queue.status().commits == commits, "the same copy is not written again")
        try queue.keepIdentityCopy(Data("left".utf8))
        #expect(try queue.identityCopy() == Data("left".utf8))
        await queue.close()
        #expect(try Data(contentsOf: URL(fileURLWithPath: fixture.database)).range(of: first) == nil)
        #expect(throws: QueueError.self) { try queue.identityCopy() }
    }

    @Test("Goes over into the file that takes a corrupt one's place, and so does the end of an epoch leave it")
    func salvaged() async throws {
        let fixture = try QueueFixture()
        var queue = try fixture.open()
        for text in ["first", "second"] { try queue.keepIdentityCopy(Data(text.utf8)) }
        try await queue.endEpoch(.wiped)
        #expect(try queue.identityCopy() == Data("second".utf8))
        await queue.close()
        let connection = try Connection(path: fixture.database)
        try connection.execute("DROP TABLE gap")
        try connection.close()
        queue = try fixture.open()
        #expect(try await queue.status().replacements == 1)
        #expect(try queue.identityCopy() == Data("second".utf8))
        await queue.close()
    }

    @Test("A queue of version 3, which had none, is taken over as it is")
    func version3() async throws {
        let fixture = try QueueFixture()
        var queue = try fixture.open()
        let epoch = queue.epoch
        _ = try await queue.enqueueDurably(fixture.record(.event))
        await queue.close()
        let connection = try Connection(path: fixture.database)
        try connection.execute("DROP TABLE identity")
        try connection.setUserVersion(3)
        try connection.close()
        try Data("\(epoch) 1\n".utf8).write(to: URL(fileURLWithPath: "\(fixture.directory)/queue.epoch"))
        queue = try fixture.open()
        #expect(queue.epoch == epoch)
        #expect(try await queue.status().replacements == 0)
        #expect(try await queue.verify().isWhole)
        #expect(try await queue.enqueueDurably(fixture.record(.event)) == 2)
        #expect(try queue.identityCopy() == nil)
        await queue.close()
    }
}
