import Foundation
import Testing
import WireModel

@testable import ObjectStorage

/// Amazon's published examples: the signing key of the documentation of Signature Version 4, the test suite
/// `aws-sig-v4-test-suite`, and the four requests of "Authenticating Requests: Using the Authorization Header".
@Suite struct RequestSignerTests {
    private static let emptyDigest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    /// 2015-08-30T12:36:00Z.
    private static let suiteTime: Int64 = 1_440_938_160_000_000
    /// 2013-05-24T00:00:00Z.
    private static let exampleTime: Int64 = 1_369_353_600_000_000

    private static func signature(
        _ message: RequestSigner.Message, _ signer: RequestSigner, _ credentials: ObjectStorageCredentials,
        _ time: Int64
    ) throws -> String {
        var message = message
        signer.sign(&message, with: credentials, at: time)
        let header = try #require(message.headers.last)
        #expect(header.name == "authorization")
        return String(try #require(header.value.split(separator: "Signature=").last))
    }

    @Test func `The signing key is that of the documentation`() {
        let key = RequestSigner(region: "us-east-1", service: "iam").key(
            day: "20150830", secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
        #expect(key.hexadecimal == "c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9")
    }

    struct SuiteCase: Sendable, CustomTestStringConvertible {
        var name: String
        var message: RequestSigner.Message
        var signature: String

        var testDescription: String { name }

        init(
            _ name: String, _ signature: String, method: String = "GET", path: String = "/",
            query: [(String, String)] = [], headers: [(String, String)] = []
        ) {
            self.name = name
            self.signature = signature
            message = RequestSigner.Message(
                method: method, path: path, query: query.map { ($0.0, $0.1) },
                headers: [("Host", "example.amazonaws.com")] + headers.map { ($0.0, $0.1) },
                payloadDigest: RequestSignerTests.emptyDigest)
        }
    }

    @Test(arguments: [
        SuiteCase("get-vanilla", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        SuiteCase("post-vanilla", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b", method: "POST"),
        SuiteCase(
            "get-vanilla-empty-query-key", "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb",
            query: [("Param1", "value1")]),
        SuiteCase(
            "get-vanilla-query-order-key-case", "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
            query: [("Param2", "value2"), ("Param1", "value1")]),
        SuiteCase(
            "get-vanilla-utf8-query", "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04",
            query: [("ሴ", "bar")]),
        SuiteCase(
            "get-utf8", "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85",
            path: RequestSigner.encoded("/ሴ", keepingSlashes: true)),
        SuiteCase(
            "get-unreserved", "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f",
            path: RequestSigner.encoded(
                "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", keepingSlashes: true)),
        SuiteCase(
            "get-header-value-trim", "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736",
            headers: [("My-Header1", " value1"), ("My-Header2", " \"a   b   c\"")]),
    ])
    func `The signature is that of the test suite`(_ vector: SuiteCase) throws {
        let credentials = try ObjectStorageCredentials(
            accessKeyID: "AKIDEXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
        let signer = RequestSigner(region: "us-east-1", service: "service")
        #expect(try Self.signature(vector.message, signer, credentials, Self.suiteTime) == vector.signature)
    }

    @Test(
        arguments: [
            (
                "GET", "/test.txt", [], [("Range", "bytes=0-9")], emptyDigest,
                "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
            ),
            (
                "PUT", "/test%24file.text", [],
                [("Date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY")],
                "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
                "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"
            ),
            (
                "GET", "/", [("lifecycle", "")], [], emptyDigest,
                "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"
            ),
            (
                "GET", "/", [("prefix", "J"), ("max-keys", "2")], [], emptyDigest,
                "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
            ),
        ] as [(String, String, [(String, String)], [(String, String)], String, String)])
    func `The signature is that of the examples for S3`(
        _ method: String, _ path: String, _ query: [(String, String)], _ headers: [(String, String)], _ digest: String,
        _ signature: String
    ) throws {
        let credentials = try ObjectStorageCredentials(
            accessKeyID: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
        let message = RequestSigner.Message(
            method: method, path: path, query: query.map { ($0.0, $0.1) },
            headers: [("host", "examplebucket.s3.amazonaws.com"), ("x-amz-content-sha256", digest)]
                + headers.map { ($0.0, $0.1) }, payloadDigest: digest)
        let signer = RequestSigner(region: "us-east-1")
        #expect(try Self.signature(message, signer, credentials, Self.exampleTime) == signature)
    }

    @Test func `A session token is sent and signed`() throws {
        let credentials = try ObjectStorageCredentials(
            accessKeyID: "AKIDEXAMPLE", secretAccessKey: "secret", sessionToken: "token")
        var message = RequestSigner.Message(
            method: "GET", path: "/", headers: [("host", "a")], payloadDigest: Self.emptyDigest)
        RequestSigner(region: "us-east-1").sign(&message, with: credentials, at: Self.suiteTime)
        #expect(message.headers.contains { $0 == ("x-amz-security-token", "token") })
        #expect(message.headers.last?.value.contains("SignedHeaders=host;x-amz-date;x-amz-security-token,") == true)
    }
}
