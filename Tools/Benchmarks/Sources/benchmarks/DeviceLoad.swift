import Foundation
import Gzip
import WireModel

/// One enrolled device and the requests it will send: a chain of parts of typed system samples, made before the clock
/// runs.
struct DeviceLoad: Sendable {
    struct Part: Sendable {
        var request: [UInt8]
        /// The number that the mark must have after it.
        var last: UInt64
        var link: ChainLink
    }

    private(set) var parts: [Part] = []
    /// Bytes of all bodies as they travel, and inflated.
    private(set) var bodyBytes = 0
    private(set) var rawBytes = 0

    /// - Parameters:
    ///   - credential: from the enrollment.
    ///   - recordsPerPart: each part but the last has that many.
    init(credential: String, records: Int, recordsPerPart: Int, times: SampleTimes) throws {
        let compressor = try GzipCompressor()
        for part in SampleChain.parts(records: records, recordsPerPart: recordsPerPart, times: times) {
            var message = WireBatchRequest()
            message.parts = [part.wire]
            let raw = message.encoded
            let body = try compressor.compress(raw)
            rawBytes += raw.count
            bodyBytes += body.count
            let headers = [
                ("Authorization", "Bearer \(credential)"), ("Content-Type", WireNames.protobuf),
                ("Content-Encoding", "gzip"),
                ("Accept", WireNames.protobuf),
            ]
            let request = HTTPConnection.request("POST", WireNames.batchesPath, headers: headers, body: body)
            parts.append(Part(request: request, last: part.last, link: part.lastLink))
        }
    }

    /// Sends all parts, one after the other, each until it is acknowledged; asked to wait (429, 503) it waits and sends
    /// again.
    /// - Returns: how often it was asked to wait, and the milliseconds of each answer.
    func send(over connection: HTTPConnection) throws -> (waits: Int, milliseconds: [Double]) {
        var waits = 0
        var milliseconds: [Double] = []
        milliseconds.reserveCapacity(parts.count)
        for part in parts {
            while true {
                let start = ContinuousClock.now
                let response = try connection.send(part.request)
                milliseconds.append((ContinuousClock.now - start) / .milliseconds(1))
                if response.status == 429 || response.status == 503 {
                    waits += 1
                    guard waits < 10_000 else {
                        throw BenchmarkError("the collector answers \(response.status) for ever")
                    }
                    usleep(10_000)
                    continue
                }
                guard response.status == 200 else {
                    throw BenchmarkError(
                        "the collector answers \(response.status): \(String(decoding: response.body, as: UTF8.self))")
                }
                let answer = try WireBatchAnswer.decode(response.body)
                guard let wire = answer.parts.first else { throw BenchmarkError("an answer without its part") }
                let decided = try PartAnswer(wire)
                if decided.outcome == .unavailable {
                    waits += 1
                    guard waits < 10_000 else { throw BenchmarkError("a part stays unavailable: \(decided.detail)") }
                    usleep(10_000)
                    continue
                }
                guard decided.outcome == .stored, decided.mark.number == part.last, decided.mark.link == part.link
                else {
                    throw BenchmarkError(
                        "part up to \(part.last): \(decided.outcome), mark \(decided.mark.number) \(decided.detail)")
                }
                break
            }
        }
        return (waits, milliseconds)
    }
}
