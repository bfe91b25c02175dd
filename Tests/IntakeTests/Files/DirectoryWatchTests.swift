import Foundation
import Glibc
import TestKit
import Testing

@testable import Intake

@Suite struct DirectoryWatchTests {
    private let directory: TemporaryDirectory
    private let watch = DirectoryWatch(sendsEvents: { _ in true })

    init() throws { directory = try TemporaryDirectory() }

    private func append(_ text: String, _ name: String) throws {
        let descriptor = open(directory.file(name), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        try #require(write(descriptor, text, text.utf8.count) == text.utf8.count)
    }

    @Test func `A changed file is named, and a new name asks for a search`() throws {
        try append("1", "a")
        let reader = watch.addReader()
        #expect(watch.set([directory.path], for: reader))
        #expect(watch.news(for: reader) == DirectoryWatch.News())
        try append("2", "a")
        #expect(watch.news(for: reader) == DirectoryWatch.News(paths: [directory.file("a")]))
        #expect(watch.news(for: reader) == DirectoryWatch.News())
        try append("1", "b")
        #expect(watch.news(for: reader).isSearchNeeded)
        try #require(rename(directory.file("b"), directory.file("c")) == 0)
        #expect(watch.news(for: reader) == DirectoryWatch.News(isSearchNeeded: true))
    }

    @Test func `Each reader hears of its own directories`() throws {
        for name in ["one", "two"] { try #require(mkdir(directory.file(name), 0o700) == 0) }
        let (one, two) = (watch.addReader(), watch.addReader())
        #expect(watch.set([directory.file("one")], for: one))
        #expect(watch.set([directory.file("one"), directory.file("two")], for: two))
        try append("x", "two/a")
        #expect(watch.news(for: one) == DirectoryWatch.News())
        #expect(watch.news(for: two).isSearchNeeded)
        watch.removeReader(two)
        try append("x", "one/a")
        #expect(watch.news(for: one).isSearchNeeded)
        #expect(watch.news(for: two).isSearchNeeded, "nobody knows what happened")
    }

    @Test func `An overflow asks everyone for a search`() {
        let readers = [watch.addReader(), watch.addReader()]
        // As the kernel writes it: watch -1, mask IN_Q_OVERFLOW, cookie 0, no name.
        let event: [UInt32] = [UInt32(bitPattern: -1), 0x4000, 0, 0]
        event.withUnsafeBytes { watch.take($0) }
        for reader in readers { #expect(watch.news(for: reader) == DirectoryWatch.News(isSearchNeeded: true)) }
    }

    @Test func `A directory that is not there, or whose file system sends no events, is not watched`() throws {
        let reader = watch.addReader()
        #expect(!watch.set([directory.path, directory.file("none")], for: reader))
        let silent = DirectoryWatch(sendsEvents: { _ in false })
        #expect(!silent.set([directory.path], for: silent.addReader()))
    }

    @Test(arguments: [
        ("24 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n", true),
        ("24 1 8:1 / /mnt rw - nfs4 server:/x rw\n", false),
        ("24 1 8:1 / /mnt rw - fuse.sshfs server:/x rw\n", false),
        ("24 1 8:2 / / rw - ext4 /dev/sda2 rw\n", false),
        ("24 1 8:1\n", false),
        ("", false),
    ])
    func `Only file systems that are known to be local send events`(mounts: String, isLocal: Bool) {
        #expect(DirectoryWatch.isLocal(device: 0x801, mounts) == isLocal)
    }
}
