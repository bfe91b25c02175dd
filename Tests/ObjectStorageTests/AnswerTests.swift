import Foundation
import Testing
import WireModel

@testable import ObjectStorage

/// What the storage answers, and what somebody answers who is not one.
@Suite struct AnswerTests {
    private static func read(_ text: String, _ limits: XMLElement.Limits = .init()) throws(XMLElement.Fault)
        -> XMLElement
    {
        try XMLElement(Array(text.utf8), limits: limits)
    }

    @Test func `Elements and text are read`() throws {
        let root = try Self.read(
            """
            \u{FEFF}<?xml version="1.0" encoding="UTF-8"?>\n<R xmlns='http://x/?a>b'><A>1&lt;2 \
            &amp;&#x20;&#252;</A><B/><A>x</A></R>\n
            """
        )
        #expect(root.name == "R" && root.children.map(\.name) == ["A", "B", "A"])
        #expect(root.text(of: "A") == "1<2 & ü" && root.text(of: "B") == "" && root.text(of: "C") == nil)
    }

    @Test(arguments: [
        "", "text", "<a>", "<a></b>", "<a", "<a b='", "<a>&unknown;</a>", "<a>&#xD800;</a>", "<a>&#1", "<a/><b/>",
        "<a/>x",
        "<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>", "<a><!-- c --></a>", "<a><![CDATA[x]]></a>", "<a><?php?></a>",
        "< a/>",
        "<a></a", "<\u{FC}/>",
    ])
    func `Nothing else is accepted`(_ text: String) {
        #expect(throws: XMLElement.Fault.self) { try Self.read(text) }
    }

    @Test func `Every cut of a document is refused`() throws {
        let whole = "<?xml version=\"1.0\"?><R a=\"b\"><A>1&amp;2</A><B/></R>"
        _ = try Self.read(whole)
        for end in 0..<whole.utf8.count {
            #expect(throws: XMLElement.Fault.self) { try XMLElement(Array(whole.utf8.prefix(end))) }
        }
    }

    @Test func `Size, depth and number are bounded`() throws {
        let deep = String(repeating: "<a>", count: 100_000)
        #expect { try Self.read(deep) } throws: { ($0 as? XMLElement.Fault)?.reason.contains("deeply") == true }
        let many = "<a>\(String(repeating: "<b/>", count: 50_001))</a>"
        #expect { try Self.read(many) } throws: { ($0 as? XMLElement.Fault)?.reason.contains("many") == true }
        let limits = XMLElement.Limits(bytes: 10)
        #expect { try Self.read("<abcdefghij/>", limits) } throws: {
            ($0 as? XMLElement.Fault)?.reason.contains("long") == true
        }
        #expect(throws: XMLElement.Fault.self) { try XMLElement([0x3C, 0x61, 0x3E, 0xFF, 0x3C, 0x2F, 0x61, 0x3E]) }
    }

    // MARK: Lists

    private static func page(_ contents: String, _ rest: String = "<IsTruncated>false</IsTruncated>") throws
        -> ObjectPage
    {
        try ObjectPage(
            Array("<ListBucketResult><EncodingType>url</EncodingType>\(rest)\(contents)</ListBucketResult>".utf8),
            listed: 1_795_219_260_000_000
        ) { $0.hasPrefix("p/") ? String($0.dropFirst(2)) : nil }
    }

    private static let contents =
        """
        <Contents><Key>p/a%2Bb+c%C3%BC</Key><LastModified>2026-11-21T00:00:00.000Z</LastModified><Size>12</Size></\
        Contents>
        """

    @Test func `A list gives keys, sizes and ages`() throws {
        let page = try Self.page(
            Self.contents, "<IsTruncated>true</IsTruncated><NextContinuationToken>t&amp;1</NextContinuationToken>")
        #expect(
            page.entries == [
                .init(key: "a+b cü", size: 12, modified: 1_795_219_200_000_000, age: .seconds(60))
            ])
        #expect(page.next == "t&1")
    }

    @Test(arguments: [
        (contents.replacing("p/", with: "q/"), "<IsTruncated>false</IsTruncated>"),
        (contents.replacing("12", with: "-1"), "<IsTruncated>false</IsTruncated>"),
        (contents.replacing("2026", with: "year"), "<IsTruncated>false</IsTruncated>"),
        (contents.replacing("%C3", with: "%ZZ"), "<IsTruncated>false</IsTruncated>"), (contents, ""),
        (contents, "<IsTruncated>true</IsTruncated>"),
    ])
    func `A list that is not whole is refused`(_ contents: String, _ rest: String) {
        #expect { try Self.page(contents, rest) } throws: { ($0 as? ObjectStorageError)?.code == .corrupt }
    }

    // MARK: Failures

    private static func failure(_ status: Int, _ code: String? = nil, _ headers: [String: String] = [:])
        -> ServiceFailure
    {
        let body = code.map { "<Error><Code>\($0)</Code><Message>the-secret AKIA</Message></Error>" } ?? ""
        return ServiceFailure(TransportResponse(status: status, headers: headers, body: Data(body.utf8)))
    }

    @Test(
        arguments: [
            (503, "SlowDown", .unavailable, "overloaded"), (500, "InternalError", .unavailable, "broken"),
            (503, nil, .unavailable, "503"), (429, nil, .unavailable, "429"),
            (400, "RequestTimeout", .unavailable, "400"),
            (404, "NoSuchBucket", .notFound, "no bucket logs"), (403, "AccessDenied", .refused, "right to list"),
            (403, nil, .refused, "denies access"), (403, "SignatureDoesNotMatch", .refused, "secret access key"),
            (403, "InvalidAccessKeyId", .refused, "access key"), (400, "ExpiredToken", .refused, "session token"),
            (403, "RequestTimeTooSkewed", .refused, "clock"),
            (400, "AuthorizationHeaderMalformed", .configuration, "region"),
            (301, "PermanentRedirect", .configuration, "region"), (400, "BadDigest", .corrupt, "other bytes"),
            (400, "EntityTooLarge", .refused, "EntityTooLarge"), (418, nil, .refused, "418"),
        ] as [(Int, String?, ObjectStorageError.Code, String)])
    func `A failure is sorted and names what to do`(
        _ status: Int, _ word: String?, _ code: ObjectStorageError.Code, _ text: String
    ) throws {
        let configuration = try ObjectStorageConfiguration(
            endpoint: "https://s3.example.com", region: "us-east-1", bucket: "logs", credentials: .environment)
        let failure = Self.failure(status, word)
        let error = failure.error("storing an object", configuration: configuration, now: "now")
        #expect(error.code == code && error.message.contains(text), "\(error)")
        #expect(failure.isTransient == (code == .unavailable))
        #expect(error.message.contains("s3.example.com") && !error.message.contains("the-secret"))
    }

    @Test func `A wrong clock is named with both times`() throws {
        let configuration = try ObjectStorageConfiguration(
            endpoint: "https://s3.example.com", region: "us-east-1", bucket: "logs", credentials: .environment)
        let failure = Self.failure(403, "RequestTimeTooSkewed", ["date": "Sat, 21 Nov 2026 00:01:00 GMT"])
        let error = failure.error("storing an object", configuration: configuration, now: "2026-11-20T00:00:00.000000Z")
        #expect(error.message.contains("Sat, 21 Nov 2026") && error.message.contains("2026-11-20"))
    }

    @Test func `Only a missing object is no error`() {
        #expect(Self.failure(404, "NoSuchKey").isMissingObject && Self.failure(404).isMissingObject)
        #expect(!Self.failure(404, "NoSuchBucket").isMissingObject && !Self.failure(403).isMissingObject)
    }

    @Test func `The ETag is an MD5 only where it is promised`() {
        let md5 = "9336ebf25087d91c818ee6e9ec29f8c1"
        #expect(EntityTag.md5(["etag": "\"\(md5)\""]) == md5)
        #expect(EntityTag.md5(["etag": "\"\(md5)\"", "x-amz-server-side-encryption": "AES256"]) == md5)
        #expect(EntityTag.md5(["etag": "\"\(md5)\"", "x-amz-server-side-encryption": "aws:kms"]) == nil)
        #expect(
            EntityTag.md5(["etag": "\"\(md5)\"", "x-amz-server-side-encryption-customer-algorithm": "AES256"]) == nil)
        #expect(EntityTag.md5(["etag": "\"\(md5)-2\""]) == nil && EntityTag.md5([:]) == nil)
    }

    @Test func `A range in an answer is read`() {
        #expect(ContentRange("bytes 3-4/10")?.range == 3..<5 && ContentRange("bytes 3-4/10")?.size == 10)
        #expect(ContentRange("bytes */10")?.size == 10 && ContentRange("bytes */10")?.range.isEmpty == true)
        for text in ["bytes 4-3/10", "bytes 3-10/10", "bytes 3-4", "3-4/10", "bytes 3-4/*", "bytes -1-2/10"] {
            #expect(ContentRange(text) == nil, "\(text)")
        }
    }
}
