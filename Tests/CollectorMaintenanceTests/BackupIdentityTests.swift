import Foundation
import TestKit
import Testing

@testable import CollectorMaintenance
@testable import RecordStore

@Suite struct BackupIdentityTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func file(_ text: String) throws -> String {
        let path = directory.path + "/identity"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        return path
    }

    private func refusal(_ body: () throws -> Void) -> String? {
        do { try body() } catch { return (error as? StoreError)?.message ?? "\(error)" }
        return nil
    }

    @Test func `An identity comes back from its file, and its recipient from its text`() throws {
        let identity = BackupIdentity()
        let text = identity.fileText(created: 1_790_000_000_000_000)
        #expect(text.contains("# recipient: \(identity.recipient)\n"))
        #expect(try BackupIdentity.all(inFile: file(text)).map(\.recipient) == [identity.recipient])
        #expect(try BackupRecipient("\(identity.recipient)") == identity.recipient)
        #expect("\(identity.recipient)".hasPrefix("ws1backup1"))
    }

    /// A file that an editor of another system has saved.
    @Test func `A file has as many identities as somebody puts there`() throws {
        let (one, two) = (BackupIdentity(), BackupIdentity())
        let text = "\u{FEFF}# both\r\n\r\n  \(one.secretText)  \r\n\(two.secretText.lowercased())"
        #expect(try BackupIdentity.all(inFile: file(text)).map(\.recipient) == [one.recipient, two.recipient])
    }

    @Test func `No text of an identity shows the secret, except that of its file`() throws {
        let identity = BackupIdentity()
        for text in ["\(identity)", String(describing: identity), String(reflecting: [identity])] {
            #expect(!text.uppercased().contains(identity.secretText) && text.contains("\(identity.recipient)"))
        }
    }

    @Test func `What is no recipient is refused, and a secret is not repeated`() throws {
        let identity = BackupIdentity()
        let text = "\(identity.recipient)"
        let misspelt = String(text.dropLast()) + (text.last == "q" ? "p" : "q")
        #expect(refusal { _ = try BackupRecipient(misspelt) }?.contains("misspelt") == true)
        let secret = refusal { _ = try BackupRecipient(identity.secretText) }
        #expect(secret?.contains("is an identity, which is secret") == true)
        #expect(secret?.contains(identity.secretText) == false)
        // Of another tool, of another length, in capitals, nothing at all.
        for other in [
            Bech32.encode(identity.recipient.bytes, prefix: "age"), Bech32.encode([1, 2, 3], prefix: "ws1backup"),
            text.uppercased(), "", "backup@example.org",
        ] {
            #expect(refusal { _ = try BackupRecipient(other) }?.contains("has another form") == true, "\(other)")
        }
    }

    @Test func `A file without an identity is refused with its line`() throws {
        let identity = BackupIdentity()
        let misspelt = String(identity.secretText.dropLast()) + (identity.secretText.last == "Q" ? "P" : "Q")
        for (text, words) in [
            ("# nothing\n", "has no identity"), ("", "has no identity"),
            ("# one\n\(misspelt)\n", "line 2: the identity is misspelt"),
            ("\(identity.recipient)\n", "line 1: it is a recipient, which opens nothing"),
            ("AGE-SECRET-KEY-1\n", "line 1: it is no identity"),
        ] {
            let path = try file(text)
            let message = refusal { _ = try BackupIdentity.all(inFile: path) }
            #expect(message?.contains(words) == true, "\(message ?? "accepted")")
            #expect(message?.contains(misspelt) == false)
        }
        let none = directory.path + "/none"
        #expect(refusal { _ = try BackupIdentity.all(inFile: none) }?.contains("does not exist") == true)
    }
}
