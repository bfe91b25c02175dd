import Foundation
import Glibc
import Testing

import TelemetryBasics
import TestKit

private typealias Disk = Files<FileError>

@Suite("Files by name") struct FilesTests {
    @Test(arguments: [0, 1, 4096, 4097, 100_000])
    func `What was written in place of a file is read back whole`(count: Int) throws {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/file"
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        try Disk.replace(path, with: ([1, 2, 3] as [UInt8]).span.bytes)
        try Disk.replace(path, with: bytes.span.bytes)
        #expect(try Disk.read(path, maximumBytes: 1 << 20) == bytes)
        #expect(try Disk.names(in: directory.path) == ["file"])
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
    }

    @Test func `What an earlier attempt left beside a file does not hinder, be it a link`() throws {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/file"
        #expect(symlink("\(directory.path)/other", "\(path).new") == 0)
        try Disk.replace(path, with: ([7] as [UInt8]).span.bytes)
        #expect(try Disk.read(path, maximumBytes: 10) == [7])
        #expect(!Paths.exists("\(directory.path)/other"))
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give files away"))
    func `What root replaces stays its owner's`() throws {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/file"
        try Disk.replace(path, with: ([1] as [UInt8]).span.bytes)
        #expect(chown(path, 65_534, 65_534) == 0)
        try Disk.replace(path, with: ([2] as [UInt8]).span.bytes)
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_uid == 65_534 && status.st_gid == 65_534)
        #expect(status.st_mode & 0o777 == 0o600)
        #expect(try Disk.read(path, maximumBytes: 10) == [2])
    }

    @Test func `A replacement that fails leaves the file as it was and nothing beside it`() throws {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/file"
        #expect(mkdir(path, 0o700) == 0)
        let error = #expect(throws: FileError.self) { try Disk.replace(path, with: ([7] as [UInt8]).span.bytes) }
        #expect(error == FileError("renaming", "\(path).new", EISDIR))
        #expect(try Disk.names(in: directory.path) == ["file"])
    }

    @Test func `No more is read than was asked for, also of what has no end`() throws {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/file"
        try Disk.replace(path, with: ([1, 2, 3] as [UInt8]).span.bytes)
        #expect(try Disk.read(path, maximumBytes: 2) == [1, 2])
        #expect(try Disk.read("/dev/zero", maximumBytes: 10_000)?.count == 10_000)
        #expect(try #require(try Disk.read("/proc/self/status", maximumBytes: 1 << 20)).count > 100)
    }

    @Test func `A missing file is none, and what cannot be read is an error that says why`() throws {
        let directory = try TemporaryDirectory()
        #expect(try Disk.read("\(directory.path)/none", maximumBytes: 10) == nil)
        let error = #expect(throws: FileError.self) { try Disk.read(directory.path, maximumBytes: 10) }
        #expect(error?.description == "reading \(directory.path) failed: Is a directory (errno \(EISDIR))")
    }

    @Test func `A link is followed only where the caller says so`() throws {
        let directory = try TemporaryDirectory()
        let (path, link) = ("\(directory.path)/file", "\(directory.path)/link")
        try Disk.replace(path, with: ([1] as [UInt8]).span.bytes)
        #expect(symlink(path, link) == 0)
        #expect(try Disk.read(link, maximumBytes: 10) == [1])
        #expect(throws: FileError("opening", link, ELOOP)) {
            try Disk.read(link, maximumBytes: 10, flags: O_NOFOLLOW)
        }
    }

    @Test(arguments: [true, false]) func `Directories are made with those above them, for their owner`(
        syncing: Bool
    ) throws {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/a/b/c"
        try Disk.makeDirectory(path, syncing: syncing)
        try Disk.makeDirectory(path, syncing: syncing)
        var status = stat()
        #expect(stat("\(directory.path)/a", &status) == 0 && status.st_mode & 0o777 == 0o700)
        #expect(stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR)
        #expect(throws: FileError("making", "", ENOENT)) { try Disk.makeDirectory("", syncing: syncing) }
    }

    @Test func `Removing what is not there is harmless`() throws {
        let directory = try TemporaryDirectory()
        try Disk.remove("\(directory.path)/none")
        try Disk.removeDirectory("\(directory.path)/none")
        #expect(throws: FileError.self) { try Disk.remove("/proc/self/status") }
    }

    @Test(arguments: [("/a/b", "/a"), ("/a", "/"), ("a/b", "a"), ("/", nil), ("a", nil)] as [(String, String?)])
    func `A path's parent is the directory that holds its name`(path: String, parent: String?) {
        #expect(Paths.parent(of: path) == parent)
    }
}
