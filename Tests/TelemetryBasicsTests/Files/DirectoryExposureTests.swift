import Foundation
import Glibc
import TelemetryBasics
import Testing
import TelemetryBasics

@Suite struct DirectoryExposureTests {
    @Test(
        arguments: [
            (0o40700, 10, []), (0o40755, 10, []), (0o40750, 0, []), (0o40777, 10, [.everybody(mode: 0o777)]),
            (0o41777, 0, [.everybody(mode: 0o1777)]), (0o40770, 10, [.group(mode: 0o770)]), (0o40700, 11, [.owner(11)]),
            (0o40775, 11, [.group(mode: 0o775), .owner(11)]), (0o40702, 10, [.everybody(mode: 0o702)]),
        ] as [(UInt32, UInt32, [DirectoryExposure])])
    func `Who else can write is found`(mode: UInt32, owner: UInt32, exposures: [DirectoryExposure]) {
        #expect(DirectoryExposure.of(mode: mode, owner: owner, user: 10) == exposures)
    }

    @Test func `A directory is looked at as it is`() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("exposure-\(UUID())").path
        #expect(DirectoryExposure.of(directory: path) == [])
        #expect(mkdir(path, 0o700) == 0)
        defer { rmdir(path) }
        #expect(DirectoryExposure.of(directory: path) == [])
        #expect(chmod(path, 0o777) == 0)
        let found = DirectoryExposure.of(directory: path)
        #expect(found == [.everybody(mode: 0o777)])
        #expect(found.first?.message(path).hasSuffix("chmod go-w \(path)") == true)
    }
}
