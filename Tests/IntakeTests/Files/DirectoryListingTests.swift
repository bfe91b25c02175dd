import Glibc
import TestKit
import Testing

@testable import Intake

@Suite struct DirectoryListingTests {
    @Test(arguments: [
        ("/d/a.log.1", "/d/a.log", true), ("/d/a.log-20261129", "/d/a.log", true), ("/d/a.log~", "/d/a.log", true),
        ("/d/a.1.log", "/d/a.log", true), ("/d/a-20261129.log", "/d/a.log", true), ("/d/a.log.1.gz", "/d/a.log", true),
        ("/d/job-2", "/d/job", true), ("/d/a.log", "/d/a.log", false), ("/d/a.err", "/d/a.log", false),
        ("/d/a.log2", "/d/a.log", false), ("/d/ab.log", "/d/a.log", false), ("/d/a.log", "/d/a.log.1", false),
        ("/e/a.log.1", "/d/a.log", false), ("/d/f.2", "/d/f.1", false), ("/d/.x.log", "/d/.log", false),
    ])
    func `A rotated name adds a part behind the name or before its extension`(
        path: String, original: String, isRotation: Bool
    ) {
        #expect(RotatedName.isRotation(path, of: original) == isRotation)
        // A search by the beginnings finds what the comparison finds.
        let isFound = !Set(RotatedName.prefixes(path)).isDisjoint(with: RotatedName.origins(original))
        #expect(isFound || !isRotation)
    }

    @Test func `A directory is asked for inodes, rotations and compressed files`() throws {
        let directory = try TemporaryDirectory()
        for name in ["a.log", "a.1.log", "a.log.2", "a.log.3.gz", "other.gz", "b.log"] {
            let descriptor = open(directory.file(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            try #require(descriptor >= 0)
            close(descriptor)
        }
        try #require(mkdir(directory.file("a.log.d"), 0o700) == 0)
        let listing = DirectoryListing(directory.path, goesOn: { true })
        #expect(listing.entries.count == 6)
        var status = stat()
        try #require(stat(directory.file("b.log"), &status) == 0)
        #expect(listing.path(of: FilePosition.key(status)) == directory.file("b.log"))
        #expect(
            listing.rotations(of: directory.file("a.log")).map(\.path)
                == ["a.1.log", "a.log.2", "a.log.3.gz"].map(directory.file))
        #expect(
            listing.compressed(of: directory.file("a.log")).map(\.path)
                == ["a.log.3.gz", "other.gz"].map(directory.file))
        #expect(DirectoryListing(directory.path, goesOn: { false }).entries.isEmpty)
    }
}
