import Foundation
import Testing

@testable import CommandKit

/// The systemd units that are shipped.
@Suite struct PackagedUnitTests {
    /// The values of a unit's keys, in order.
    private static func unit(_ name: String) throws -> [String: [String]] {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Tools/packaging/\(name).service")
        var values: [String: [String]] = [:]
        for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") where !line.hasPrefix("#") {
            guard let equal = line.firstIndex(of: "=") else { continue }
            values[String(line[..<equal]), default: []].append(String(line[line.index(after: equal)...]))
        }
        return values
    }

    @Test(arguments: ["ws1agent", "ws1collector"]) func `Wrong settings end a unit for good`(name: String) throws {
        let unit = try Self.unit(name)
        #expect(unit["Restart"] == ["on-failure"])
        #expect(unit["RestartPreventExitStatus"] == ["\(CommandError(.usage, "").exitCode)"])
        // systemd compares only the main process's status with RestartPreventExitStatus.
        let others = ["ExecStartPre", "ExecStartPost", "ExecCondition"].filter { unit[$0] != nil }
        #expect(others.isEmpty, "restarted for ever if it fails")
        #expect(unit["ExecStopPost", default: []].allSatisfy { $0.hasPrefix("-") })
    }

    @Test func `The agent's unit hides no part of the machine that it reports on`() throws {
        let unit = try Self.unit("ws1agent")
        #expect(unit["ProtectHome"] == ["read-only"])
        #expect(unit["PrivateNetwork"] == nil && unit["PrivateUsers"] == nil && unit["ProtectHostname"] == nil)
        #expect(unit["ProcSubset"] == nil && unit["RootDirectory"] == nil && unit["RootImage"] == nil)
        #expect(unit["InaccessiblePaths"] == nil && unit["TemporaryFileSystem"] == nil && unit["MountAPIVFS"] == nil)
        #expect(unit["RestrictAddressFamilies", default: []].joined().contains("AF_NETLINK"))
    }
}
