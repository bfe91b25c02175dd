import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1

/// Logs as a support engineer gets at them.
extension Deployment {
    struct Command: Decodable {
        struct Upload: Decodable { var state: String }
        var id: String
        var state: String
        var detail: String?
        var uploads: [Upload]?
    }

    private struct Items<Item: Decodable>: Decodable { var items: [Item] }
    private struct Identified: Decodable { var id: String }

    /// The one device there is.
    func deviceID() async throws -> String {
        let devices = try JSONDecoder().decode(Items<Identified>.self, from: try await request("/devices")).items
        guard devices.count == 1 else { throw EndToEndError("\(devices.count) devices, not one") }
        return devices[0].id
    }

    func issue(_ command: String, to device: String) async throws -> Command {
        try JSONDecoder().decode(
            Command.self, from: try await request("/devices/\(device)/commands", .POST, body: command))
    }

    /// Returns the command when it has ended.
    func end(of command: Command, device: String) async throws -> Command {
        var now = command
        try await until("command \(command.id) has ended", while: agent) {
            now = try JSONDecoder().decode(
                Command.self, from: try await self.request("/devices/\(device)/commands/\(command.id)"))
            return ["done", "failed", "expired", "unsupported"].contains(now.state)
        }
        return now
    }

    /// Lines the collector has, as it reports to people.
    func logLines(_ query: String) async throws -> [String] {
        String(decoding: try await request("/logs/content?\(query)"), as: UTF8.self).split(separator: "\n").map(
            String.init)
    }

    /// How many chunks of logs the collector has.
    func logChunks(_ query: String) async throws -> Int {
        struct Chunk: Decodable { var storedBytes: Int }
        return try JSONDecoder().decode(Items<Chunk>.self, from: try await request("/logs?\(query)")).items.count
    }

    func request(_ path: String, _ method: HTTPMethod = .GET, body: String? = nil) async throws -> Data {
        var request = HTTPClientRequest(url: "\(collectorURL)/api/v1\(path)")
        request.method = method
        request.headers.add(name: "authorization", value: "Bearer \(token("administrator-token"))")
        if let body {
            request.headers.add(name: "content-type", value: "application/json")
            request.body = .bytes(ByteBuffer(string: body))
        }
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(30))
        let answer = try await response.body.collect(upTo: 16 << 20)
        guard (200..<300).contains(response.status.code) else {
            throw EndToEndError("\(method) \(path): \(response.status) \(String(buffer: answer))")
        }
        return Data(answer.readableBytesView)
    }
}
