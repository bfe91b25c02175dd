import Foundation
import Testing

@testable import ObjectStorage

@Suite struct CredentialsTests {
    private static let file = """
        # of the AWS tools
        [default]
        aws_access_key_id = AKIADEFAULT
        aws_secret_access_key=abc/def=ghi+

        [ collector ]
          AWS_ACCESS_KEY_ID = AKIACOLLECTOR
        ; replaced daily
        aws_secret_access_key = secret-of-collector
        aws_session_token = token
        [half]
        aws_access_key_id = AKIAHALF
        aws_secret_access_key =
        """

    private func load(_ profile: String, _ text: String = file) throws -> ObjectStorageCredentials {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("credentials-\(UUID())").path
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try ObjectStorageCredentials.Source.file(path: path, profile: profile).load(environment: [:])
    }

    @Test func `A profile is read from the file of the AWS tools`() throws {
        #expect(
            try load("default")
                == ObjectStorageCredentials(accessKeyID: "AKIADEFAULT", secretAccessKey: "abc/def=ghi+"))
        #expect(
            try load("collector")
                == ObjectStorageCredentials(
                    accessKeyID: "AKIACOLLECTOR", secretAccessKey: "secret-of-collector", sessionToken: "token"))
        let elsewhere = "\u{FEFF}[default]\r\naws_access_key_id = AKIA\r\naws_secret_access_key = secret\r\n"
        #expect(
            try load("default", elsewhere)
                == ObjectStorageCredentials(accessKeyID: "AKIA", secretAccessKey: "secret"))
    }

    @Test func `What is missing in the credentials is named`() throws {
        func message(_ body: () throws -> Void) -> String {
            let error = #expect(throws: ObjectStorageError.self) { try body() }
            #expect(error?.code == .configuration)
            return error?.message ?? ""
        }
        #expect(message { _ = try load("other") }.contains("no profile [other]"))
        #expect(message { _ = try load("half") }.contains("aws_secret_access_key"))
        let absent = ObjectStorageCredentials.Source.file(path: "/nowhere/credentials")
        #expect(message { _ = try absent.load(environment: [:]) }.contains("no file of credentials at /nowhere"))
        let environment = ["AWS_ACCESS_KEY_ID": "AKIA", "AWS_SECRET_ACCESS_KEY": ""]
        #expect(
            message { _ = try ObjectStorageCredentials.Source.environment.load(environment: environment) }
                .contains("no AWS_SECRET_ACCESS_KEY"))
        #expect(
            message { _ = try ObjectStorageCredentials(accessKeyID: "a", secretAccessKey: "b\r\nc") }
                .contains("secret access key"))
    }

    @Test func `The environment also gives the credentials`() throws {
        let found = try ObjectStorageCredentials.Source.environment.load(environment: [
            "AWS_ACCESS_KEY_ID": "AKIA", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "token",
        ])
        #expect(
            try found
                == ObjectStorageCredentials(accessKeyID: "AKIA", secretAccessKey: "secret", sessionToken: "token"))
    }

    @Test func `No description has a secret`() throws {
        let credentials = try ObjectStorageCredentials(
            accessKeyID: "AKIA", secretAccessKey: "the-secret", sessionToken: "the-token")
        let configuration = try ObjectStorageConfiguration(
            endpoint: "https://s3.example.com", region: "us-east-1", bucket: "logs", credentials: .given(credentials))
        var dumped = ""
        dump(configuration, to: &dumped)
        for text in [
            "\(credentials)", "\(configuration)", String(reflecting: credentials), String(reflecting: configuration),
            dumped,
        ] {
            #expect(text.contains("AKIA") && !text.contains("the-secret") && !text.contains("the-token"), "\(text)")
        }
    }
}
