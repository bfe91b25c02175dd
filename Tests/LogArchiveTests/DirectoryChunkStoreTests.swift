import Foundation
import LogArchiveTestKit
import TestKit
import Testing
import WireModel

@testable import LogArchive
@testable import Registry

@Suite struct DirectoryChunkStoreTests {
    @Test func `The directory does what every chunk store must`() throws {
        let directory = try TemporaryDirectory()
        try ChunkStoreConformance { DirectoryChunkStore(directory: DataDirectory(path: directory.path)) }.run()
    }

    @Test func `The directory distinguishes unfinished files and strangers`() throws {
        let directory = try TemporaryDirectory()
        let data = DataDirectory(path: directory.path)
        try data.prepare()
        let store = DirectoryChunkStore(directory: data)
        let path = ChunkPath(
            organization: "default", application: "", device: DeviceID(high: 1, low: 2), upload: .random(), number: 3)
        _ = try store.write(Data("half".utf8), for: path)
        try Data().write(to: URL(fileURLWithPath: "\(directory.path)/chunks/\(path.directory)/note"))
        var (unfinished, strangers) = (0, 0)
        try store.list { entry in
            switch entry {
            case .unfinished(let partial): unfinished += partial.hasPrefix(path.text) ? 1 : 100
            case .stranger(let stranger): strangers += stranger == "\(path.directory)/note" ? 1 : 100
            case .chunk: Issue.record("there is no whole chunk")
            }
        }
        #expect((unfinished, strangers) == (1, 1))
    }
}
