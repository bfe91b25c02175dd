import CollectorClient
import CommandKit
import Foundation
import JSON
import Testing
import WireModel

@testable import CtlCommands

@Suite struct SessionTests {
    private static func device(_ id: String, _ name: String) -> JSONValue {
        ["id": .text(id), "name": .text(name), "organization": "acme", "state": "silent"]
    }

    private static let devices = [
        device("aaaa1111-1111-4111-8111-111111111111", "web-1"),
        device("aaaa2222-1111-4111-8111-111111111111", "web-10"),
        device("bbbb3333-1111-4111-8111-111111111111", "Twin"), device("bbbb4444-1111-4111-8111-111111111111", "twin"),
        device("cccc5555-1111-4111-8111-111111111111", "twin two"),
        device("cccc6666-1111-4111-8111-111111111111", "twin two"),
    ]

    @Test(arguments: [
        ("web-1", 0), ("WEB-1", 0), ("aaaa2", 1), ("Twin", 2), ("twin", 3),
        ("cccc6666-1111-4111-8111-111111111111", 5),
    ]) func `A name, an id or the first digits of one mean a single device`(_ name: String, _ index: Int) throws {
        #expect(
            try Session.choose("device", name, among: Self.devices) == Self.devices[index]["id"]?.string)
    }

    @Test(arguments: ["TWIN", "aaaa", "twin two"])
    func `A name that several devices have is refused with the candidates`(_ name: String) throws {
        let error = #expect(throws: CommandError.self) { try Session.choose("device", name, among: Self.devices) }
        #expect(error?.code == .usage)
        #expect(error?.message.split(separator: "\n").count == 3, "\(error?.message ?? "")")
        #expect(error?.message.contains("1111-4111-8111-111111111111") == true)
    }

    @Test(arguments: ["web", "aaa", "", "none"])
    func `A name that no device has is refused`(_ name: String) throws {
        let error = #expect(throws: CommandError.self) { try Session.choose("device", name, among: Self.devices) }
        #expect(error?.code == .usage && error?.message.contains("`\(name)`") == true)
    }

    @Test func `A list is read page by page, and no further than was asked for`() async throws {
        var asked: [String] = []
        let session = Session(organization: nil) { call, _ in
            asked.append(call.target)
            return Data(
                (asked.count < 3 ? #"{"items":[1,2],"next":"c\#(asked.count)"}"# : #"{"items":[5],"next":null}"#).utf8)
        }
        #expect(try await session.list(CollectorCall(.get, "x")) == [1, 2, 1, 2, 5])
        #expect(asked == ["/api/v1/x?limit=200", "/api/v1/x?limit=200&cursor=c1", "/api/v1/x?limit=200&cursor=c2"])
        asked = []
        #expect(try await session.list(CollectorCall(.get, "x"), limit: 3) == [1, 2, 1])
        #expect(asked == ["/api/v1/x?limit=3", "/api/v1/x?limit=1&cursor=c1"])
    }

    @Test func `A collector that repeats a page does not hold a list for ever`() async throws {
        let session = Session(organization: nil) { _, _ in Data(#"{"items":[],"next":"c"}"#.utf8) }
        await #expect(throws: CommandError.self) { try await session.list(CollectorCall(.get, "x")) }
    }

    @Test func `What a call names is encoded`() {
        let call = CollectorCall(.get, "devices", "a/b?c", query: [("q", "x y&z"), ("none", nil)])
        #expect(call.target == "/api/v1/devices/a%2Fb%3Fc?q=x%20y%26z")
    }
}
