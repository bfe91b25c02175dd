import Testing

@testable import ObjectStorage

@Suite struct ObjectStorageConfigurationTests {
    private static func configuration(
        endpoint: String = "https://s3.example.com", region: String = "us-east-1", bucket: String = "logs",
        prefix: String = "", addressing: ObjectStorageConfiguration.Addressing = .path
    ) throws -> ObjectStorageConfiguration {
        try ObjectStorageConfiguration(
            endpoint: endpoint, region: region, bucket: bucket, prefix: prefix, addressing: addressing,
            credentials: .environment)
    }

    @Test(
        arguments: [
            ("https://s3.example.com", .path, "https://s3.example.com:443", "s3.example.com", "/logs/a%2Bb/%C3%BC"),
            ("http://127.0.0.1:9000/s3/", .path, "http://127.0.0.1:9000/s3", "127.0.0.1:9000", "/logs/a%2Bb/%C3%BC"),
            ("http://[::1]", .path, "http://[::1]:80", "[::1]", "/logs/a%2Bb/%C3%BC"),
            (
                "https://s3.example.com", .virtualHosted, "https://logs.s3.example.com:443", "logs.s3.example.com",
                "/a%2Bb/%C3%BC"
            ),
        ] as [(String, ObjectStorageConfiguration.Addressing, String, String, String)])
    func `An object has its address`(
        _ endpoint: String, _ addressing: ObjectStorageConfiguration.Addressing, _ server: String, _ host: String,
        _ path: String
    ) throws {
        let address = try ObjectAddress(try Self.configuration(endpoint: endpoint, addressing: addressing))
        #expect("\(address.server)" == server && address.host == host && address.path("a+b/ü") == path)
        #expect(address.path(nil) == (addressing == .path ? "/logs" : "/"))
    }

    @Test func `The prefix comes before every key`() throws {
        let address = try ObjectAddress(try Self.configuration(prefix: "/one/two/"))
        #expect(address.path("key") == "/logs/one/two/key")
        #expect(address.name(of: "key") == "one/two/key" && address.key(of: "one/two/key") == "key")
        #expect(address.key(of: "other/key") == nil)
    }

    @Test func `Settings that cannot work are refused`() {
        func refusal(_ body: () throws -> ObjectStorageConfiguration) -> String {
            let error = #expect(throws: ObjectStorageError.self) { _ = try body() }
            #expect(error?.code == .configuration)
            return error?.message ?? ""
        }
        #expect(refusal { try Self.configuration(endpoint: "s3.example.com") }.contains("endpoint URL"))
        #expect(refusal { try Self.configuration(region: "") }.contains("region"))
        for bucket in ["", "ab", "Logs", "a/b", "logs.", "a b c"] {
            #expect(refusal { try Self.configuration(bucket: bucket) }.contains("bucket"))
        }
        for prefix in ["a//b", "a/../b", "."] {
            #expect(refusal { try Self.configuration(prefix: prefix) }.contains("prefix"))
        }
        #expect(
            refusal { try Self.configuration(endpoint: "http://127.0.0.1:9000", addressing: .virtualHosted) }
                .contains("path addressing"))
    }

    @Test func `Plain HTTP to another machine must be allowed`() async throws {
        var configuration = try Self.configuration(endpoint: "http://s3.example.com")
        configuration.credentials = .given(try ObjectStorageCredentials(accessKeyID: "a", secretAccessKey: "b"))
        let error = #expect(throws: ObjectStorageError.self) { try ObjectStorage(configuration) }
        #expect(error?.code == .configuration && error?.message.contains("https://") == true)
        configuration.allowsPlaintext = true
        await (try ObjectStorage(configuration)).shutDown()
    }

    @Test func `A pause grows, and ends with the time`() {
        let plan = RetryPlan(firstPause: .milliseconds(100), totalTimeout: .seconds(10))
        func pause(_ attempts: Int, _ elapsed: Duration = .zero, roll: Double = 1) -> Duration? {
            plan.pause(after: attempts, elapsed: elapsed, roll: roll)
        }
        #expect(pause(1) == .milliseconds(100) && pause(1, roll: 0) == .milliseconds(50))
        #expect(pause(2) == .milliseconds(200) && pause(5) == .milliseconds(1600))
        #expect(pause(6) == .seconds(2) && pause(1000) == .seconds(2))
        #expect(pause(6, .milliseconds(7999)) == .seconds(2) && pause(6, .seconds(8)) == nil)
        #expect(pause(1, .seconds(11)) == nil)
    }
}
