import Foundation
import Glibc
import Testing

/// What only looks at a collector's data asks for no more than to read it: a backup is mounted read-only, an auditor is
/// another user.
@Suite(.timeLimit(.minutes(3)), .enabled(if: SmallDisk.canMount, "mounting a tmpfs needs root"))
struct ReadOnlyDataTests {
    private static let looks = [
        ["organization", "list"], ["organization", "list", "--json"], ["token", "list"], ["verify"], ["balance"],
    ]

    @Test func `What only looks works on a read-only directory`() async throws {
        let disk = try SmallDisk(megabytes: 160)
        defer { disk.remove() }
        try await Deployment.run(collectorData: disk.path + "/collector") { deployment in
            try await deployment.startCollector()
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            _ = try await deployment.record(events: 3, prefix: "kept")
            try await deployment.waitUntilSent()
            try await deployment.stopAgent()
            try await deployment.stopCollector()
            // As another user, to whom it is open to read and no more.
            chmod(disk.path, 0o755)
            let before = try Self.files(deployment.collectorData)
            for file in before {
                try #require(
                    lchown(file, 65_534, 65_534) == 0 && chmod(file, Self.isDirectory(file) ? 0o500 : 0o400) == 0)
            }
            let user = ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
            for look in Self.looks {
                let other = try await Program.collector.run(look + ["--data", deployment.collectorData], under: user)
                #expect(other.succeeded, "as another user: \(look): \(other)")
            }
            #expect(try Self.files(deployment.collectorData) == before, "nothing was made")
            try #require(mount(nil, disk.path, nil, UInt(MS_REMOUNT | MS_RDONLY), nil) == 0)
            for look in Self.looks {
                let mounted = try await Program.collector.run(look + ["--data", deployment.collectorData])
                #expect(mounted.succeeded, "mounted read-only: \(look): \(mounted)")
            }
            // What changes something says why it cannot.
            let made = try await Program.collector.run([
                "organization", "create", "west", "--data", deployment.collectorData,
            ])
            #expect(!made.succeeded && !made.errors.isEmpty)
        }
    }

    /// The directory and all in it.
    private static func files(_ directory: String) throws -> [String] {
        [directory]
            + (try FileManager.default.subpathsOfDirectory(atPath: directory)).sorted().map { "\(directory)/\($0)" }
    }

    private static func isDirectory(_ path: String) -> Bool {
        var isDirectory: ObjCBool = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) && isDirectory.boolValue
    }
}
