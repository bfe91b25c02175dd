import Crypto
import Foundation
import TelemetryBasics
import WireModel

/// A device's log at a scripted collector: chunks of lines, and the answers of the routes that describe them.
struct RemoteScript: Sendable {
    static let device = "11111111-1111-4111-8111-111111111111"
    static let epoch = "22222222-2222-4222-8222-222222222222"
    static let time: Int64 = 1_795_219_200_000_000

    private(set) var texts: [Data] = []

    /// Chunks of a segment each, of about so many bytes.
    init(chunks: Int, bytes: Int) {
        for chunk in 1...max(1, chunks) {
            var text = Data()
            var position: UInt64 = 0
            while text.count < bytes {
                position += 1
                let number = LogNumber(segment: UInt64(chunk), position: position).value
                text += Data(
                    """
                    \(Timestamp.text(Self.time + Int64(number))) \(position % 10 == 0 ? "E" : "I") \(number) app.test \
                    line \(number) of a chunk\n
                    """
                    .utf8
                )
            }
            texts.append(text)
        }
    }

    var text: Data { texts.reduce(Data(), +) }

    /// - Parameters:
    ///   - digest: what is said in place of the digest of the chunk in question.
    ///   - command: the request that brought them.
    func list(digest: (chunk: Int, sha256: String)? = nil, command: String? = nil) -> String {
        let items = texts.enumerated().reversed().map { index, text in
            let lines = text.count { $0 == UInt8(ascii: "\n") }
            let first = LogNumber(segment: UInt64(index + 1), position: 1).value
            let sha256 =
                digest.flatMap { $0.chunk == index + 1 ? $0.sha256 : nil } ?? Data(SHA256.hash(data: text)).hexadecimal
            let errors = lines / 10
            return """
                {"id":"\(index + 1)","device":"\(Self.device)","organization":"default","application":"kiosk",\
                "type":"application","upload":"\(Self.epoch)","number":\(index + 1),\
                \(command.map { "\"command\":\"\($0)\"," } ?? "")"logEpoch":"\(Self.epoch)","rawBytes":\(text.count),\
                "storedBytes":\(text.count / 10),"receivedAt":"\(Timestamp.text(Self.time))",\
                "firstTime":"\(Timestamp.text(Self.time + Int64(first)))",\
                "lastTime":"\(Timestamp.text(Self.time + Int64(first) + Int64(lines)))","firstLine":\(first),\
                "lastLine":\(first + UInt64(lines) - 1),"levels":{"error":\(errors),"warning":0,\
                "information":\(lines - errors),"verbose":0},"sha256":"\(sha256)"}
                """
        }
        return #"{"items":[\#(items.joined(separator: ","))],"next":null}"#
    }

    /// The text of the chunks that a request names; of all where it names none.
    func content(_ head: String) -> Data {
        guard let start = head.firstRange(of: "ids=")?.upperBound else { return text }
        let ids = head[start...].prefix { $0.isNumber || $0 == "," }.split(separator: ",").compactMap { Int($0) }
        return ids.reduce(Data()) { $0 + texts[$1 - 1] }
    }

    /// The answer of an honest collector.
    func answer(_ head: String, command: String? = nil) -> ScriptedCollector.Answer {
        if head.contains("/api/v1/logs/content") { return .content(content(head)) }
        return .json(list(command: command))
    }
}
