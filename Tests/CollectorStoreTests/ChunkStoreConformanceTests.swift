import Foundation
import Testing
import WireModel

@testable import CollectorStore

/// What every chunk store must do. Another one runs the same body: it brings a way to open it again over what it kept.
struct ChunkStoreConformance {
    /// Opens the store over what the one before has kept.
    let open: () throws -> any ChunkStore

    private static func path(_ upload: UploadID, _ number: Int = 1, application: String = "app") -> ChunkPath {
        ChunkPath(
            organization: "default", application: application, device: DeviceID(high: 1, low: 2), upload: upload,
            number: number)
    }

    private static func entries(_ store: any ChunkStore) throws -> [ChunkStoreEntry] {
        var entries: [ChunkStoreEntry] = []
        try store.list { entries.append($0) }
        return entries
    }

    func run() throws {
        try whatIsPutIsThereInPartsAndAfterANewOpening()
        try whatIsPutAgainTakesThePlace()
        try whatIsDeletedIsGoneAndMayBeDeletedAgain()
        try everythingIsListedWithUploadAndNumber()
    }

    private func whatIsPutIsThereInPartsAndAfterANewOpening() throws {
        let path = Self.path(.random())
        try open().put(Data("0123456789".utf8), at: path)
        let store = try open()
        #expect(try store.read(path.text, 0..<10) == Data("0123456789".utf8))
        #expect(try store.read(path.text, 3..<5) == Data("34".utf8))
        #expect(try store.read(path.text, 10..<10) == Data())
        #expect { try store.read(path.text, 5..<11) } throws: { ($0 as? StoreError)?.code == .corrupt }
        #expect(store.freeBytes.map { $0 > 0 } ?? true)
    }

    private func whatIsPutAgainTakesThePlace() throws {
        let (store, path) = (try open(), Self.path(.random()))
        try store.put(Data("first".utf8), at: path)
        try store.put(Data("other".utf8), at: path)
        #expect(try store.read(path.text, 0..<5) == Data("other".utf8))
    }

    private func whatIsDeletedIsGoneAndMayBeDeletedAgain() throws {
        let (store, path) = (try open(), Self.path(.random()))
        #expect(try store.read(path.text, 0..<1) == nil)
        try store.put(Data("gone".utf8), at: path)
        #expect(store.delete(path.text))
        #expect(try store.read(path.text, 0..<1) == nil)
        #expect(store.delete(path.text))
        #expect(try open().read(path.text, 0..<1) == nil)
    }

    private func everythingIsListedWithUploadAndNumber() throws {
        let store = try open()
        for case .chunk(let path, _, _) in try Self.entries(store) { store.delete(path) }
        let (one, other) = (UploadID.random(), UploadID.random())
        // Also of a name that is no path.
        for path in [Self.path(one, 1), Self.path(one, 1000), Self.path(other, 7, application: "../../a b")] {
            try store.put(Data("x".utf8), at: path)
        }
        let found = try Self.entries(try open())
        #expect(found.count == 3)
        for (upload, number) in [(one, 1), (one, 1000), (other, 7)] {
            let listed = found.compactMap { entry -> String? in
                guard case .chunk(let path, upload, number) = entry else { return nil }
                return path
            }
            #expect(listed.count == 1)
            for path in listed { #expect(try store.read(path, 0..<1) == Data("x".utf8)) }
        }
    }
}

@Suite("Chunk stores") struct ChunkStoreConformanceTests {
    @Test func theDirectoryDoesWhatEveryChunkStoreMust() throws {
        let directory = try TemporaryDirectory()
        try ChunkStoreConformance { DirectoryChunkStore(directory: DataDirectory(path: directory.path)) }.run()
    }

    @Test func theDirectoryTellsOfUnfinishedFilesAndStrangersApart() throws {
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
