import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import WireModel

/// A device that lies: every text that it sends is markup, has control characters, and is 10,000 characters long.
struct HostileDevice {
    /// What it does to a page that treats its texts as markup: it sets `window.hacked`.
    static let markup = #"<script>window.hacked=1</script>"'><img src=x onerror="window.hacked=1">{{7*7}}&lt;"#
    /// Escape, bell, right-to-left override, zero-width space, and combining marks upon each other.
    static let characters = "\u{1B}[31m\u{7}\u{202E}gnp.exe\u{200B}a\u{301}\u{316}\u{330}"
    static let long = markup + characters + String(repeating: "W", count: 10_000)
    /// The text for fields that the collector bounds: 256 bytes.
    static let short = String((markup + characters).prefix(180))

    let deployment: Deployment
    private(set) var id = ""
    private var credential = ""

    /// Enrolls and sends one record of each kind.
    /// - Returns: its id.
    static func report(to deployment: Deployment) async throws -> HostileDevice {
        var device = HostileDevice(deployment: deployment)
        try await device.enroll()
        try await device.send(.status, [(.beacon, "", beacon)])
        try await device.send(.event, (0..<3).map { (.event, "", event($0)) })
        try await device.send(
            .sample,
            [
                (.sampleSystem, "system", system), (.sampleNetworkAdapter, "networkAdapter", adapters),
                (.sampleNetworkData, "networkData", network), (.sampleWlan, "wlan2", wireless),
                (.sampleCustom, short, custom),
            ])
        return device
    }

    private mutating func enroll() async throws {
        var request = WireEnrollRequest()
        request.requestID = Data((0..<16).map { _ in UInt8.random(in: .min ... .max) })
        request.machineHash = "hostile"
        request.deviceName = Self.short
        request.agentVersion = Self.short
        request.application = "com.example.hostile"
        request.operatingSystem = Self.operatingSystem(Self.short)
        let token = deployment.token("enrollment-token")
        let answer = try WireEnrollAnswer.decode(try await post(WireNames.enrollPath, request.encoded, bearer: token))
        guard let id = DeviceID(answer.deviceID) else { throw EndToEndError("no device id") }
        (self.id, credential) = ("\(id)", answer.credential)
    }

    private func send(_ stream: StreamName, _ bodies: [(WireRecordKind, String, Data)]) async throws {
        var link = ChainLink.zero
        let now = Int64(Date().timeIntervalSince1970 * 1_000_000)
        let records = bodies.enumerated().map { index, body -> Data in
            let record = NewRecord(
                stream: stream, kind: body.0, module: body.1,
                stamp: RecordStamp(wallTime: now, bootID: nil, timeSinceBoot: 5_000_000), body: body.2
            ).serialized(number: UInt64(index + 1))
            link = link.appending(record)
            return record
        }
        let count = UInt64(records.count)
        let part = BatchPart(
            epoch: .random(), stream: stream, first: 1, last: count, priorLink: .zero, lastLink: link,
            totals: StreamTotals(produced: count, waiting: count), records: records)
        var request = WireBatchRequest()
        request.parts = [part.wire]
        let answer = try WireBatchAnswer.decode(
            try await post(WireNames.batchesPath, request.encoded, bearer: credential))
        guard answer.parts.first?.outcome == .stored else { throw EndToEndError("\(stream): \(answer)") }
    }

    private func post(_ path: String, _ body: Data, bearer: String) async throws -> Data {
        var request = HTTPClientRequest(url: deployment.collectorURL + path)
        request.method = .POST
        request.headers.add(name: "authorization", value: "Bearer \(bearer)")
        request.headers.add(name: "content-type", value: WireNames.protobuf)
        request.body = .bytes(ByteBuffer(bytes: body))
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(30))
        let answer = try await response.body.collect(upTo: 1 << 20)
        guard response.status == .ok else {
            throw EndToEndError("\(path): \(response.status) \(String(buffer: answer))")
        }
        return Data(answer.readableBytesView)
    }

    // MARK: Bodies

    private static func operatingSystem(_ text: String) -> WireOperatingSystem {
        var system = WireOperatingSystem()
        system.name = text
        system.distribution = text
        system.version = text
        system.kernel = text
        system.architecture = text
        return system
    }

    private static var beacon: Data {
        var beacon = WireBeacon()
        beacon.trigger = .start
        beacon.deviceName = long
        beacon.organizationGroup = long
        beacon.application = "com.example.hostile"
        beacon.applicationVersion = long
        beacon.libraryVersion = long
        beacon.operatingSystem = operatingSystem(short)
        beacon.userEmail = long
        beacon.userFullName = long
        beacon.userDisplayName = long
        beacon.enrollment = .enrolled
        beacon.deviceCompliance = .nonCompliant
        beacon.applicationCompliance = .nonCompliant
        beacon.compromised = .yes
        beacon.model = long
        beacon.nextBeaconSeconds = 900
        beacon.beaconSequence = 1
        beacon.modules = ["system", long]
        beacon.profileFindings = [long]
        beacon.slowdown.budget = long
        beacon.slowdown.factor = 200
        var finding = WireFinding()
        finding.detector = long
        finding.verdict = .yes
        finding.evidence = long
        beacon.findings = [finding]
        var rule = WireRuleResult()
        rule.rule = long
        rule.state = .nonCompliant
        rule.actual = long
        rule.expected = long
        rule.action = long
        beacon.rules = [rule]
        return beacon.encoded
    }

    private static func event(_ number: Int) -> Data {
        var event = WireEvent()
        event.type = .custom
        event.name = short
        event.value.text = long
        var value = WireValue()
        value.text = long
        event.attributes = [short: value]
        return event.encoded
    }

    private static var system: Data {
        var sample = WireSystemSample()
        sample.uptimeSeconds = 5
        sample.identity.hostName = long
        sample.identity.operatingSystem = operatingSystem(long)
        sample.identity.model = long
        sample.identity.vendor = long
        sample.identity.cpuModel = long
        sample.memory.total = 1 << 30
        sample.memory.available = 1 << 29
        var disk = WireFileSystem()
        disk.mountPoint = long
        disk.type = long
        disk.device = long
        disk.size = 1 << 30
        disk.used = 1 << 29
        sample.fileSystems = [disk]
        var device = WireBlockDevice()
        device.name = long
        device.readBytes = 5
        device.total.readBytes = 5
        sample.blockDevices = [device]
        var temperature = WireTemperature()
        temperature.sensor = long
        temperature.millidegrees = 40_000
        sample.temperatures = [temperature]
        return sample.encoded
    }

    private static var adapters: Data {
        var adapter = WireNetworkAdapter()
        adapter.name = long
        adapter.type = long
        adapter.driver = long
        adapter.mac = long
        adapter.operationalState = long
        adapter.duplex = long
        var address = WireInterfaceAddress()
        address.address = long
        address.scope = long
        adapter.addresses = [address]
        var sample = WireNetworkAdapterSample()
        sample.adapters = [adapter]
        sample.defaultGateways = [long]
        return sample.encoded
    }

    private static var network: Data {
        var interface = WireInterfaceData()
        interface.name = long
        interface.total.receivedBytes = 5
        interface.delta.receivedBytes = 5
        var sample = WireNetworkDataSample()
        sample.intervalMicroseconds = 1_000_000
        sample.interfaces = [interface]
        return sample.encoded
    }

    private static var wireless: Data {
        var interface = WireWLANInterface()
        interface.name = long
        interface.ssid = Data(long.utf8)
        interface.bssid = long
        interface.security = long
        var sample = WireWLANSample()
        sample.interfaces = [interface]
        return sample.encoded
    }

    private static var custom: Data {
        var measurement = WireMeasurement()
        measurement.name = short
        measurement.unit = short
        measurement.value.real = 1.5
        measurement.attributes = [short: short]
        var sample = WireCustomSample()
        sample.measurements = [measurement]
        return sample.encoded
    }
}
