import Testing
import WireModel

@testable import LogArchive

@Suite struct ChunkPathTests {
    @Test(arguments: [
        ("com.example.kiosk", "com.example.kiosk"), ("", "%"), ("..", "%2e."), (".", "%2e"), ("../x", "%2e.%2fx"),
        ("a/b", "a%2fb"),
        ("a b", "a%20b"), ("ü", "%c3%bc"), ("%2e", "%252e"), ("a\0b", "a%00b"), ("A_b-9", "A_b-9"),
    ])
    func `Every name is one component`(_ name: String, _ expected: String) {
        #expect(ChunkPath.component(name) == expected)
    }

    @Test func `Long names stay distinct and fit every file system`() {
        let names = [
            String(repeating: "x", count: 255), String(repeating: "x", count: 254), String(repeating: "/", count: 255),
        ]
        let components = names.map(ChunkPath.component)
        #expect(Set(components).count == 3 && components.allSatisfy { $0.utf8.count <= 120 })
        // No other name gives the same.
        #expect(ChunkPath.component(components[0]) != components[0])
    }

    @Test func `The file is named by upload and number`() {
        let (device, upload) = (DeviceID(high: 1, low: 2), UploadID(high: 3, low: 4))
        let path = ChunkPath(organization: "default", application: "", device: device, upload: upload, number: 7)
        #expect(path.text == "default/%/\(device)/\(upload)-0007.log.gz")
    }

    @Test func `An attempt is part of the name`() throws {
        let (device, upload) = (DeviceID(high: 1, low: 2), UploadID(high: 3, low: 4))
        let path = ChunkPath(
            organization: "default", application: "a", device: device, upload: upload, number: 12_345, attempt: 255)
        #expect(path.file == "\(upload)-12345.00000000000000ff.log.gz")
        let name = try #require(ChunkPath.FileName(path.file))
        #expect(name.upload == upload && name.number == 12_345 && name.attempt == 255 && !name.isPartial)
        // As before there were attempts.
        #expect(ChunkPath.FileName("\(upload)-0007.log.gz")?.attempt == nil)
        #expect(ChunkPath.FileName("\(upload)-0007.log.gz")?.number == 7)
        for rest in ["-0007.ff.log.gz", "-0007.00000000000000fg.log.gz", "-.00000000000000ff.log.gz", "-7..log.gz"] {
            #expect(ChunkPath.FileName("\(upload)\(rest)") == nil, "\(rest)")
        }
    }
}
