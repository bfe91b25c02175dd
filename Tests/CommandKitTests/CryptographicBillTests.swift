import Foundation
import Testing

@Suite struct CryptographicBillTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
        "../.."
    )
    .standardizedFileURL

    private let bill: CryptographicBill
    private let sources: [String: String]

    init() throws {
        bill = try JSONDecoder().decode(
            CryptographicBill.self,
            from: Data(contentsOf: Self.root.appendingPathComponent("Tools/packaging/CBOM.json")))
        let files = try FileManager.default.subpathsOfDirectory(
            atPath: Self.root.appendingPathComponent("Sources").path
        ).filter { $0.hasSuffix(".swift") }
        sources = try Dictionary(
            uniqueKeysWithValues: files.map {
                (
                    "Sources/\($0)",
                    try String(contentsOf: Self.root.appendingPathComponent("Sources/\($0)"), encoding: .utf8)
                )
            })
    }

    @Test func `It lists every use of cryptography in the sources, and nothing else`() throws {
        #expect(sources.count > 500)
        let contradictions = try bill.contradictions(sources)
        #expect(
            contradictions.isEmpty,
            "\(contradictions.joined(separator: "\n"))\nDescribe the new in CBOM.json, then run Tools/generate-cbom."
        )
    }

    @Test func `Versions of libraries are those that are built`() throws {
        let lines = try String(
            contentsOf: Self.root.appendingPathComponent("Tools/dependencies.txt"), encoding: .utf8
        ).split(separator: "\n").filter { !$0.hasPrefix("#") }.map { $0.split(separator: " ") }
        let versions = Dictionary(uniqueKeysWithValues: lines.map { (String($0[0]), String($0[1])) })
        let built = bill.components.filter { versions[$0.name] != nil }
        #expect(built.count == 6)
        for component in built { #expect(component.version == versions[component.name], "\(component.name)") }
    }

    @Test(arguments: [
        ("import Crypto", "swift-crypto is used in Sources/Shared/Gzip/New.swift, which is not listed"),
        ("public import CryptoSwift", "Sources/Shared/Gzip/New.swift imports CryptoSwift, which no component names"),
        (
            "@testable import struct NIOSSL.A",
            "swift-nio-ssl is used in Sources/Shared/Gzip/New.swift, which is not listed"
        ),
        ("let a = SHA256.hash(data: b)", "sha-256 is used in Sources/Shared/Gzip/New.swift, which is not listed"),
        ("let a = SHA512.hash(data: b)", "Sources/Shared/Gzip/New.swift uses SHA512, which no component covers"),
        (
            "try ChaChaPoly.seal(a, using: b)",
            "Sources/Shared/Gzip/New.swift uses ChaChaPoly, which no component covers"
        ),
        ("HMAC<SHA512>.self", "Sources/Shared/Gzip/New.swift uses HMAC<SHA512, which no component covers"),
        (
            "Curve25519.Signing.PrivateKey()",
            "ed25519 is used in Sources/Shared/Gzip/New.swift, which is not listed"
        ),
        (
            "P521.Signing.PrivateKey()",
            "Sources/Shared/Gzip/New.swift uses P521.Signing, which no component covers"
        ),
        (
            "HPKE.Ciphersuite(kem: .P521_HKDF_SHA512, kdf: a, aead: b)",
            "Sources/Shared/Gzip/New.swift uses HPKE.Ciphersuite, which no component covers"
        ),
    ])
    func `A new use is found`(line: String, contradiction: String) throws {
        let new = sources.merging(["Sources/Shared/Gzip/New.swift": "\(line)\n"]) { $1 }
        #expect(try bill.contradictions(new).contains(contradiction))
    }

    @Test func `A remark uses nothing`() throws {
        let new = sources.merging(["Sources/Shared/Gzip/New.swift": "/// As SHA512 and AES.KeyWrap do.\n"]) { $1 }
        #expect(try bill.contradictions(new) == bill.contradictions(sources))
    }

    @Test func `A use that has gone is found`() throws {
        let path = "Sources/Shared/WireModel/Chain/ChainLink.swift"
        #expect(sources[path] != nil)
        let found = try bill.contradictions(sources.merging([path: ""]) { $1 })
        #expect(found.contains("swift-crypto is listed in \(path), which does not use it"))
        #expect(found.contains("sha-256 is listed in \(path), which does not use it"))
        let key = "Sources/Collector/ObjectStorage/Requests/RequestSigner.swift"
        #expect(
            try bill.contradictions(sources.filter { $0.key != key }).contains(
                "secret:object-storage is listed in \(key), which does not use it"))
    }
}
