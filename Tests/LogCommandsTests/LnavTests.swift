import Foundation
import TestKit
import Testing

/// The format file is read by the real lnav (Debian's), which finds the fields of our lines, also compressed.
@Suite(
    .enabled(
        if: FileManager.default.isExecutableFile(atPath: "/usr/bin/lnav"),
        "lnav is not installed; Tools/test installs it"))
struct LnavTests {
    private static let lnav = URL(fileURLWithPath: "/usr/bin/lnav")
    private static let format = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Tools/packaging/lnav/ws1log.json")

    @Test func `Our lines are read by field`() async throws {
        let folder = try StoreFolder()
        let environment = ["HOME": folder.path, "TERM": "dumb"]
        #expect(
            try await ProgramRun.of(["-i", Self.format.path], environment: environment, program: Self.lnav).status == 0)
        let check = try await ProgramRun.of(["-C"], environment: environment, program: Self.lnav)
        #expect(check.status == 0 && check.errors.isEmpty, "\(check.errors)")

        let lines = folder.text(1).split(separator: UInt8(ascii: "\n"))
        let query =
            ";SELECT log_level, count(*) AS n, min(number) AS first FROM ws1log GROUP BY log_level ORDER BY log_level"
        // A chunk as fetched, compressed.
        let fetch = try await ProgramRun.ws1log([
            "fetch", "--gzip", "--data", folder.path, "--output", folder.file("chunk.log.gz").path, "--type",
            "application", "--until",
            "2026-11-21T00:00:01Z",
        ])
        #expect(fetch.status == 0)
        for (file, isWhole) in [("lines.log", true), ("chunk.log.gz", false)] {
            if isWhole { try folder.text(1).write(to: folder.file(file)) }
            let run = try await ProgramRun.of(
                ["-n", "-c", query, "-c", ":write-csv-to -", folder.file(file).path], environment: environment,
                program: Self.lnav)
            let rows = run.text.split(separator: "\n").dropFirst().map { $0.split(separator: ",") }
            #expect(rows.map { String($0[0]) } == ["debug", "info", "warning", "error"], "\(run.text)\(run.errors)")
            guard isWhole else { continue }
            for (row, letter) in zip(rows, "VIWE".utf8) {
                let ours = lines.filter { $0[$0.startIndex + 28] == letter }
                #expect(row[1] == "\(ours.count)")
                #expect(
                    Int(row[2])
                        == Int(
                            String(decoding: ours[0].dropFirst(30).prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self)))
            }
        }
    }
}
