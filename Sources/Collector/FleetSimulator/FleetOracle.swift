import CollectorAPI
import FoundationEssentials
import TelemetryBasics
import WireModel

/// Asks the collector afterwards what it stored of a device, through the same API that people use, and compares it with
/// what the device knows.
///
/// Every acknowledged record must exist exactly once and unaltered. No record may exist twice or without having been
/// made. The balance must close over the listed records.
struct FleetOracle {
    let transport: any FleetTransport
    /// A token that may see the devices.
    let token: String

    /// A question that the collector did not answer.
    struct Unanswered: Error, CustomStringConvertible {
        var path: String
        var status: Int?

        var description: String { "\(path) was answered with \(status.map { "status \($0)" } ?? "nothing")" }
    }

    /// The fields that identify a record in a list, whatever else is listed of it.
    private struct Listed: Decodable {
        var epoch: String
        var number: UInt64
        var time: String
    }

    /// - Returns: the report on this device alone.
    func check(_ device: SimulatedDevice) async throws -> FleetReport.Oracle {
        var findings = FleetReport.Oracle(devices: 1)
        guard let id = device.id else {
            if device.ledger.acknowledged > 0 { findings.detail("device \(device.index) was never enrolled") }
            return findings
        }
        var seen: [FleetLedger.Place: Int] = [:]
        for stream in StreamName.allCases {
            var cursor: String?
            repeat {
                let page: Page<Listed> = try await ask(
                    Self.path(of: stream, id) + (cursor.map { "&cursor=\($0)" } ?? ""))
                for item in page.items { check(item, of: stream, id, device.ledger, &seen, &findings) }
                cursor = page.next
            } while cursor != nil
        }
        for (place, entry) in device.ledger.entries where entry.acknowledged != nil && seen[place] == nil {
            findings.lost += 1
            findings.detail("lost: \(id) \(place.stream) \(place.number) of epoch \(place.epoch)")
        }
        var streams: [BalanceReport.Stream] = []
        var cursor: String?
        repeat {
            let page: BalanceReport = try await ask(
                "/api/v1/devices/\(id)/balance" + (cursor.map { "?cursor=\($0)" } ?? ""))
            streams += page.streams
            cursor = page.next
        } while cursor != nil
        for stream in streams {
            let listed = seen.filter {
                $0.key.epoch.description == stream.epoch && $0.key.stream.description == stream.stream
            }.count
            if !stream.closes || stream.stored != UInt64(listed) {
                findings.unbalanced += 1
                findings.detail(
                    """
                    unbalanced: \(id) \(stream.stream) of epoch \(stream.epoch): \(stream.stored) stored, \(listed) \
                    listed, closes: \(stream.closes)
                    """
                )
            }
        }
        return findings
    }

    private func check(
        _ item: Listed, of stream: StreamName, _ id: DeviceID, _ ledger: FleetLedger,
        _ seen: inout [FleetLedger.Place: Int], _ findings: inout FleetReport.Oracle
    ) {
        findings.found += 1
        guard let epoch = EpochID(item.epoch) else {
            findings.foreign += 1
            return
        }
        let place = FleetLedger.Place(epoch: epoch, stream: stream, number: item.number)
        seen[place, default: 0] += 1
        let name = "\(id) \(stream) \(item.number) of epoch \(epoch)"
        if seen[place] == 2 {
            findings.doubled += 1
            findings.detail("doubled: \(name)")
        }
        guard let entry = ledger.entries[place], entry.made.contains(where: { Timestamp.text($0) == item.time }) else {
            findings.foreign += 1
            findings.detail("never made: \(name) at \(item.time)")
            return
        }
        if let acknowledged = entry.acknowledged, Timestamp.text(acknowledged) != item.time {
            findings.altered += 1
            findings.detail("another than the one acknowledged: \(name)")
        }
    }

    private static func path(of stream: StreamName, _ id: DeviceID) -> String {
        switch stream {
        case .status: "/api/v1/devices/\(id)/beacons?limit=1000&test=true"
        case .event: "/api/v1/events?device=\(id)&limit=1000&test=true"
        case .sample: "/api/v1/devices/\(id)/samples?limit=1000&test=true"
        }
    }

    private func ask<Answer: Decodable>(_ path: String) async throws -> Answer {
        var status: Int?
        // A busy collector is asked again.
        for _ in 0..<5 {
            let answer = await transport.send(FleetRequest(path: path, bearer: token))
            status = answer?.status
            if let answer, answer.status == 200 { return try JSONDecoder().decode(Answer.self, from: answer.body) }
        }
        throw Unanswered(path: path, status: status)
    }
}

/// The records that one device knows it made, and those that the collector reported as stored. This is the oracle's
/// memory; a rollback of the device's disk does not affect it.
struct FleetLedger: Sendable {
    struct Place: Hashable, Sendable {
        let epoch: EpochID
        let stream: StreamName
        let number: UInt64
    }

    struct Entry: Sendable {
        /// Wall times of all records that had this number, which distinguish them. After a rollback there are several.
        var made: [Int64] = []
        /// Wall time of the acknowledged record.
        var acknowledged: Int64?
    }

    private(set) var entries: [Place: Entry] = [:]
    private(set) var made = 0

    var acknowledged: Int { entries.values.count { $0.acknowledged != nil } }

    mutating func make(_ place: Place, time: Int64) {
        made += 1
        entries[place, default: Entry()].made.append(time)
    }

    mutating func acknowledge(_ place: Place, time: Int64) {
        entries[place, default: Entry()].acknowledged = time
    }
}
