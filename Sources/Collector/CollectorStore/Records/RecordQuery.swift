import WireModel

/// Which records of a stream are asked for; everything here is in the envelope, so no body is decoded to answer.
package struct RecordQuery: Equatable, Sendable {
    package enum Devices: Equatable, Sendable {
        case one(DeviceID)
        /// Those and no others, over the fleet.
        case among(Set<DeviceID>)
    }

    package var devices: Devices
    package var stream: StreamName
    /// Raw values of record kinds; empty for all.
    package var kinds: Set<Int>
    /// Of this sample module only.
    package var module: String?
    /// Of this bundle id only; empty for what the agent itself made.
    package var application: String?
    package var times: RecordTimes
    /// Whether test data is among them.
    package var withTest: Bool

    package init(
        _ devices: Devices, stream: StreamName, kinds: Set<Int> = [], module: String? = nil, application: String? = nil,
        times: RecordTimes = .all, withTest: Bool = true
    ) {
        self.devices = devices
        self.stream = stream
        self.kinds = kinds
        self.module = module
        self.application = application
        self.times = times
        self.withTest = withTest
    }

    /// Whether a record is one of them, its device apart.
    package func admits(_ header: RecordHeader) -> Bool {
        (kinds.isEmpty || kinds.contains(header.kind)) && (module == nil || header.module == module)
            && (application == nil || header.application == application) && (withTest || !header.test) && times.contains(header.wallTime)
    }

    package func admits(_ device: DeviceID) -> Bool {
        switch devices {
        case .one(let one): device == one
        case .among(let some): some.contains(device)
        }
    }

    /// Bits of `slice.kinds`; `nil` where every slice may do.
    var kindBits: UInt64? {
        kinds.isEmpty ? nil : kinds.reduce(0) { $0 | RecordFile.kindBit($1) }
    }
}
