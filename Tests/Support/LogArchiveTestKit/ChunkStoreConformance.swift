import Foundation
import LogArchive
import RecordStore
import Testing
import WireModel

/// What every chunk store must do. Another one runs the same body: it brings a way to open it again over what it kept.
package struct ChunkStoreConformance {
    private let open: () throws -> any ChunkStore

    /// - Parameter open: opens the store over what the one before has kept.
    package init(open: @escaping () throws -> any ChunkStore) { self.open = open }

    private static func path(
        _ upload: UploadID, _ number: Int = 1, application: String = "app", attempt: UInt64? = nil
    ) -> ChunkPath {
        ChunkPath(
            organization: "default", application: application, device: DeviceID(high: 1, low: 2), upload: upload,
            number: number, attempt: attempt)
    }

    private static func entries(_ store: any ChunkStore) throws -> [ChunkStoreEntry] {
        var entries: [ChunkStoreEntry] = []
        try store.list { entries.append($0) }
        return entries
    }

    /// Blocks, as the store does.
    package func run() throws {
        try whatIsPutIsThereInPartsAndAfterANewOpening()
        try whatIsPutAgainTakesThePlace()
        try whatIsDeletedIsGoneAndMayBeDeletedAgain()
        try everythingIsListedWithUploadAndNumber()
        try attemptsAtOneChunkStayApart()
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
        for case .chunk(let path, _, _, _, _) in try Self.entries(store) { store.delete(path) }
        let (one, other) = (UploadID.random(), UploadID.random())
        // Also of a name that is no path.
        for path in [Self.path(one, 1), Self.path(one, 1000), Self.path(other, 7, application: "../../a b")] {
            try store.put(Data("x".utf8), at: path)
        }
        let found = try Self.entries(try open())
        #expect(found.count == 3)
        for (upload, number) in [(one, 1), (one, 1000), (other, 7)] {
            let listed = found.compactMap { entry -> String? in
                guard case .chunk(let path, upload, number, false, _) = entry else { return nil }
                return path
            }
            #expect(listed.count == 1)
            for path in listed { #expect(try store.read(path, 0..<1) == Data("x".utf8)) }
        }
    }
    private func attemptsAtOneChunkStayApart() throws {
        let (store, upload) = (try open(), UploadID.random())
        let paths = [1, UInt64.max].map { Self.path(upload, attempt: $0) }
        for path in paths { try store.put(Data(path.file.utf8), at: path) }
        let found = try Self.entries(store).compactMap { entry -> String? in
            guard case .chunk(let path, upload, 1, true, let age) = entry else { return nil }
            #expect((age != nil) == store.isShared)
            return path
        }
        #expect(Set(found) == Set(paths.map(\.text)))
        #expect(store.delete(paths[0].text))
        #expect(try store.read(paths[0].text, 0..<1) == nil)
        let rest = Data(paths[1].file.utf8)
        #expect(try store.read(paths[1].text, 0..<rest.count) == rest)
    }
}
