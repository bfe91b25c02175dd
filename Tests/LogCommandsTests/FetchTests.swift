import ArgumentParser
import Crypto
import Foundation
import Glibc
import LogStore
import TestKit
import Testing
import WireModel

@testable import LogCommands

@Suite struct FetchTests {
    private let folder: StoreFolder

    init() throws { folder = try StoreFolder() }

    private func fetch(_ arguments: String...) async throws -> ProgramRun {
        try await ProgramRun.ws1log(
            ["fetch", "--chunks", "--data", folder.path, "--output", folder.file("out").path, "--device-name", "dev"]
                + arguments)
    }

    private func manifest() throws -> FetchManifest {
        try JSONDecoder().decode(FetchManifest.self, from: Data(contentsOf: folder.file("out/manifest.json")))
    }

    private func chunkFiles() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.file("out").path).filter { $0.contains(".log") }
            .sorted()
    }

    @Test func `Chunks and manifest are written`() async throws {
        let run = try await fetch("--type", "application")
        #expect(run.status == 0, "\(run.errors)")
        let manifest = try manifest()
        #expect(manifest.chunks.map(\.name) == (try chunkFiles()))
        #expect(manifest.chunks.map(\.order) == Array(1...manifest.chunks.count))
        var all = Data()
        for chunk in manifest.chunks {
            let data = try Data(contentsOf: folder.file("out/\(chunk.name)"))
            #expect(data.count == chunk.bytes && chunk.bytes == chunk.rawBytes && chunk.bytes <= LogLimits.chunkBytes)
            #expect(Data(SHA256.hash(data: data)).hexadecimal == chunk.sha256)
            all += data
        }
        #expect(all == folder.text(1, 2, 5))
        #expect(manifest.chunks.first?.name.hasPrefix("ws1agent-dev-application-20261121T0000") == true)
    }

    @Test func `Compressed chunks are read by zcat`() async throws {
        #expect(try await fetch("--gzip", "--ring", "--json").status == 0)
        let files = try manifest().chunks.map { folder.file("out/\($0.name)").path }
        let zcat = try await ProgramRun.of(files, program: URL(fileURLWithPath: "/bin/zcat"))
        #expect(zcat.output == folder.text(1, 2, 3, 4, 5))
    }

    @Test func `Nothing is overwritten unless forced`() async throws {
        #expect(try await fetch().status == 0)
        let again = try await fetch()
        #expect(again.status == 1)
        #expect(again.errors.contains("--force"))
        #expect(try await fetch("--force").status == 0)
    }

    @Test func `A directory with other files is not filled unless forced`() async throws {
        try FileManager.default.createDirectory(at: folder.file("out"), withIntermediateDirectories: false)
        try Data("x".utf8).write(to: folder.file("out/holiday.jpg"))
        let refused = try await fetch()
        #expect(
            refused.status == 1 && refused.errors.contains("holiday.jpg") && refused.errors.contains("--output"),
            "\(refused.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.file("out").path) == ["holiday.jpg"])
        let forced = try await fetch("--force")
        #expect(forced.status == 0, "\(forced.errors)")
        #expect(forced.text.hasSuffix("in \(AbsolutePath.of(folder.file("out").path))\n"), "\(forced.text)")
    }

    @Test func `Compressed text goes to a name that says so`() async throws {
        func write(_ name: String) async throws -> ProgramRun {
            try await ProgramRun.ws1log(["fetch", "--gzip", "--data", folder.path, "--output", folder.file(name).path])
        }
        let run = try await write("all.log")
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.text.hasSuffix(" in \(AbsolutePath.of(folder.path))/all.log.gz\n"), "\(run.text)")
        #expect(access(folder.file("all.log").path, F_OK) != 0)
        let zcat = try await ProgramRun.of([folder.file("all.log.gz").path], program: URL(fileURLWithPath: "/bin/zcat"))
        #expect(zcat.output == folder.text(1, 2, 3, 5))
        #expect(try await write("all.log").status == 1, "it is there already under that name")
        #expect(try await write("other.log.gz").status == 0)
        #expect(access(folder.file("other.log.gz").path, F_OK) == 0)
    }

    /// What an interruption leaves: the journal, some chunks whole, one damaged, one half-written.
    @Test func `An interrupted fetch goes on where it was`() async throws {
        #expect(try await fetch("--gzip").status == 0)
        let manifest = try manifest()
        #expect(manifest.chunks.count == 3)
        let expected = try chunkFiles().map { try Data(contentsOf: folder.file("out/\($0)")) }

        let filter = try FilterOptions.parse([])
        let snapshot = try StoreSnapshot(folder.store, kinds: filter.kinds)
        var problems: [ChunkPlan.Problem] = []
        let plan = try ChunkPlan(snapshot, problems: &problems)
        let request = FetchRequest(
            store: folder.store.path, form: .gzip, kinds: filter.kinds.map(\.rawValue).sorted(), level: .verbose,
            since: nil, until: nil,
            categories: [], text: "")
        try FileManager.default.removeItem(at: folder.file("out/manifest.json"))
        let journal = try ChunkFetch.Journal(
            ChunkFetch.Head(request: request, plan: plan, names: manifest.chunks.map(\.name)),
            at: folder.file("out/manifest.json.partial").path)
        for position in 0..<2 {
            try journal.append(
                WrittenChunk(
                    position: position, bytes: expected[position].count,
                    sha256: Data(SHA256.hash(data: expected[position]))))
        }
        try Data("damaged".utf8).write(to: folder.file("out/\(manifest.chunks[1].name)"))
        try FileManager.default.removeItem(at: folder.file("out/\(manifest.chunks[2].name)"))
        // Lines that come meanwhile are not part of it.
        let active = try FileHandle(
            forWritingTo: URL(fileURLWithPath: folder.store.path(SegmentName(ordinal: 5, kind: .application), .text)))
        try active.seekToEnd()
        try active.write(contentsOf: Data("2026-11-21T23:51:28.123456Z I 5999999 - later\n".utf8))

        let other = try await fetch("--gzip", "--level", "error")
        #expect(other.status == 1)
        #expect(other.errors.contains("something else"))
        let run = try await fetch("--gzip")
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.text.contains("1 of them there already"))
        #expect(try chunkFiles().map { try Data(contentsOf: folder.file("out/\($0)")) } == expected)
        #expect(try self.manifest() == manifest)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.file("out").path).filter {
                $0.hasSuffix(".partial")
            } == [])
    }

    @Test func `Without chunks, lines go to standard output or a file`() async throws {
        let output = try await ProgramRun.ws1log(["fetch"], environment: ["WS1_DATA": folder.path])
        #expect(output.status == 0)
        #expect(output.output == folder.text(1, 2, 3, 5))
        let file = folder.file("all.log").path
        #expect(try await ProgramRun.ws1log(["fetch", "--data", folder.path, "--output", file]).status == 0)
        #expect(FileManager.default.contents(atPath: file) == folder.text(1, 2, 3, 5))
        #expect(try await ProgramRun.ws1log(["fetch", "--data", folder.path, "--output", file]).status == 1)
    }

    @Test func `A filter is applied before cutting`() async throws {
        let run = try await ProgramRun.ws1log(
            [
                "fetch", "--data", folder.store.path, "--level", "warning", "--category", "app.*", "--type",
                "application",
            ])
        let lines = folder.text(1, 2, 5).split(separator: UInt8(ascii: "\n")).filter { line in
            let fields = line.split(separator: UInt8(ascii: " "))
            return "EW".utf8.contains(fields[1].first!) && fields[3].starts(with: "app.".utf8)
        }
        #expect(run.output == lines.reduce(Data()) { $0 + $1 + Data("\n".utf8) })
        #expect(!lines.isEmpty)
    }

    @Test func `An empty log has a manifest and no chunks`() async throws {
        let run = try await fetch("--until", "2020-01-01")
        #expect(run.status == 0)
        #expect(try manifest().chunks.isEmpty)
        #expect(try chunkFiles().isEmpty)
    }

    @Test func `A damaged segment fails the fetch, and the rest is there`() async throws {
        let path = folder.store.path(SegmentName(ordinal: 1, kind: .application), .sealed)
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        bytes[bytes.count / 2] ^= 1
        try bytes.write(to: URL(fileURLWithPath: path))
        let run = try await ProgramRun.ws1log(["fetch", "--data", folder.path, "--level", "error"])
        #expect(run.status == 1)
        #expect(run.errors.contains("0000000001-application.log.gz"))
        #expect(!run.output.isEmpty)
    }

    @Test(arguments: [
        ["fetch", "--json", "--data", "/tmp"], ["fetch", "--level", "loud", "--data", "/tmp"],
        ["fetch", "--since", "later"],
        ["tail", "-n", "-1", "--data", "/tmp"], ["delete", "--type", "all", "--since", "x"],
    ])
    func `Wrong usage ends with 64`(_ arguments: [String]) async throws {
        #expect(try await ProgramRun.ws1log(arguments).status == 64)
    }

    @Test func `A directory without a store is reported`() async throws {
        let run = try await ProgramRun.ws1log(["list", "--data", "/usr"])
        #expect(run.status == 1)
        #expect(run.errors.contains("check --data"))
    }
}
