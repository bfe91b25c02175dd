import Foundation
import TestKit
import Testing

@testable import DataSampler

@Suite struct SigningRequestFileTests {
    private static let request = Data([0x30, 0x03, 0x02, 0x01, 0x05])

    private func read(_ bytes: Data) throws -> Data {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/client.csr"
        try bytes.write(to: URL(filePath: path))
        return try SigningRequestFile(path: path).read()
    }

    private static func pem(_ label: String) -> String {
        """
        Certificate Request:\n  Data\n-----BEGIN \(label)-----\r\n\(request.base64EncodedString())\r\n-----END \
        \(label)-----\n
        """
    }

    @Test(arguments: ["CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST"])
    func `PEM is read with whatever stands before it`(label: String) throws {
        #expect(try read(Data(Self.pem(label).utf8)) == Self.request)
    }

    @Test func `A byte order mark before PEM does no harm`() throws {
        let pem = Self.pem("CERTIFICATE REQUEST").drop { $0 != "-" }
        #expect(try read(Data("\u{FEFF}\(pem)".utf8)) == Self.request)
    }

    @Test func `DER is taken as it is`() throws { #expect(try read(Self.request) == Self.request) }

    @Test func `What is none is an error that names the file and how one is made`() throws {
        let cut = Data(Self.pem("CERTIFICATE REQUEST").utf8).dropLast(40)
        for bytes in [Data(), Data("nonsense".utf8), cut, Data(Self.pem("CERTIFICATE").utf8), Data(count: 70_000)] {
            let error = #expect(throws: DataSamplerError.self) { try read(bytes) }
            #expect(error?.message.contains("client.csr") == true && error?.message.contains("openssl req") == true)
        }
        let missing = #expect(throws: DataSamplerError.self) {
            try SigningRequestFile(path: "/nowhere/client.csr").read()
        }
        #expect(missing?.message.contains("/nowhere/client.csr cannot be read") == true)
    }
}
