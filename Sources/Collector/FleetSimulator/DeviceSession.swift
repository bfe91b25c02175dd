import FoundationEssentials
import Gzip
import WireModel

/// One device's exchange with the collector. It enrolls the device if needed, sends what waits, with or without the
/// plan's faults, and applies the answers as a real device does.
struct DeviceSession {
    let transport: any FleetTransport
    let enrollmentToken: String
    let partRecords: Int
    var device: SimulatedDevice
    var counts = FleetCounts()
    /// Durations of batch requests in seconds.
    private(set) var latencies: [Double] = []

    /// Sends one request and follows its answer.
    mutating func transmit() async {
        if device.id == nil { await enroll() }
        guard device.id != nil else { return }
        if device.has(.rollback), device.rollBack() { record(.rollback) }
        if device.has(.reenroll) {
            record(.reenroll)
            let answer = await send(
                FleetRequest(method: "POST", path: WireNames.batchesPath, bearer: "no-such-credential", body: Data()))
            // 429: this machine has sent too many wrong credentials, and the collector asks to wait.
            if let status = answer?.status, status == 401 || status == 429 { await enroll() }
        }
        let parts = device.parts(partRecords)
        guard let body = request(parts) else {
            device.ghost = nil
            return
        }
        if device.has(.reordered) {
            record(.reordered)
            // This request is sent after the next one.
            device.ghost = body
            return
        }
        await send(parts, body)
        if let ghost = device.ghost {
            device.ghost = nil
            await handle(await batch(ghost))
        }
    }

    private mutating func send(_ parts: [BatchPart], _ body: Data) async {
        counts.recordsSent += parts.reduce(0) { $0 + $1.records.count }
        if device.has(.damaged), let damaged = request(Self.damaged(parts)) {
            record(.damaged)
            await handle(await batch(damaged))
        } else if device.has(.cutRequest) {
            record(.cutRequest)
            await handle(await batch(body, isCut: true))
        } else if device.has(.lostAnswer) {
            record(.lostAnswer)
            _ = await batch(body)
        } else if device.has(.repeated) {
            record(.repeated)
            async let first = transport.send(batchRequest(body))
            async let second = transport.send(batchRequest(body))
            let answers = await (first, second)
            // Applies the later answer first.
            for answer in [answers.1, answers.0] {
                count(answer)
                await handle(answer)
            }
        } else {
            await handle(await batch(body))
        }
    }

    private static func damaged(_ parts: [BatchPart]) -> [BatchPart] {
        parts.map { part in
            var part = part
            guard var record = part.records.last, let end = record.indices.last else { return part }
            record[end] ^= 0x20
            part.records[part.records.count - 1] = record
            return part
        }
    }

    private func request(_ parts: [BatchPart]) -> Data? {
        guard !parts.isEmpty else { return nil }
        var request = WireBatchRequest()
        request.parts = parts.map(\.wire)
        return try? GzipCodec.compress(request.encoded)
    }

    private func batchRequest(_ body: Data, isCut: Bool = false) -> FleetRequest {
        FleetRequest(
            method: "POST", path: WireNames.batchesPath, bearer: device.credential, body: body, isGzip: true,
            isCut: isCut)
    }

    private mutating func batch(_ body: Data, isCut: Bool = false) async -> FleetAnswer? {
        let clock = ContinuousClock()
        let start = clock.now
        let answer = await send(batchRequest(body, isCut: isCut))
        let duration = start.duration(to: clock.now)
        if answer?.status == 200 {
            latencies.append(Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18)
        }
        return answer
    }

    /// Applies the answer to a batch. An answer that is missing or cannot be read changes nothing.
    private mutating func handle(_ answer: FleetAnswer?) async {
        guard let answer, answer.status == 200, let batch = try? WireBatchAnswer.decode(answer.body) else { return }
        let answers = batch.parts.compactMap { try? PartAnswer($0) }
        for answer in answers { counts.outcomes["\(answer.outcome)", default: 0] += 1 }
        if device.apply(answers) { await closeEpoch() }
    }

    private mutating func closeEpoch() async {
        let request = FleetRequest(
            method: "POST", path: WireNames.closePath, bearer: device.credential, body: device.closing.encoded)
        guard let answer = await send(request), answer.status == 200,
            let closed = try? WireCloseAnswer.decode(answer.body), closed.streams.count == StreamName.allCases.count
        else { return }
        counts.closedEpochs += 1
        device.move(
            after: closed.streams.compactMap { stream in
                StreamName(rawValue: stream.stream.rawValue).map { ($0, stream.hasMatched ? stream.matched.number : 0) }
            })
    }

    private mutating func enroll() async {
        var request = WireEnrollRequest()
        request.deviceName = "simulated-\(device.index)"
        // Marks the device as a test device: views, summaries and quotas leave it out unless asked.
        request.test = true
        request.machineHash = device.machineHash
        request.operatingSystem.name = "linux"
        if let id = device.id {
            request.deviceID = id.data
            request.previousCredential = device.credential
        } else {
            request.requestID = device.requestID.data
        }
        let message = FleetRequest(
            method: "POST", path: WireNames.enrollPath, bearer: enrollmentToken, body: request.encoded)
        guard let answer = await send(message), answer.status == 200,
            let enrolled = try? WireEnrollAnswer.decode(answer.body), let id = DeviceID(enrolled.deviceID)
        else { return }
        device.id = id
        device.credential = enrolled.credential
    }

    private mutating func send(_ request: FleetRequest) async -> FleetAnswer? {
        let answer = await transport.send(request)
        count(answer)
        return answer
    }

    private mutating func count(_ answer: FleetAnswer?) {
        counts.requests += 1
        counts.answers[answer.map { "\($0.status)" } ?? "none", default: 0] += 1
    }

    private mutating func record(_ fault: FleetFault) { counts.faults[fault.rawValue, default: 0] += 1 }
}
