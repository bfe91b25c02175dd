import FoundationEssentials
import WireModel

/// A custom module's sample, checked against its bounds and ready to be recorded.
struct CustomSample: Sendable {
    static let maximumMeasurements = 512
    private static let nameBytes = 1...128
    private static let unitBytes = 0...32
    private static let maximumAttributes = 16
    private static let attributeNameBytes = 1...64
    private static let attributeValueBytes = 256
    private static let textBytes = 1024
    /// Leaves room for the envelope in a record of 256 KiB.
    private static let sampleBytes = 240 * 1024

    let module: String
    let body: Data

    /// - Throws: `invalidModule` naming the measurement, the bound and the remedy.
    init(module: String, measurements: [SampleMeasurement]) throws(DataSamplerError) {
        if let objection = CustomModuleName.objection(to: module) { throw Self.error(objection) }
        guard (1...Self.maximumMeasurements).contains(measurements.count) else {
            throw Self.error("\(measurements.count) measurements of '\(module)': a sample has 1 to \(Self.maximumMeasurements)")
        }
        var sample = WireCustomSample()
        for measurement in measurements { sample.measurements.append(try Self.message(measurement)) }
        let body = sample.encoded
        guard body.count <= Self.sampleBytes else {
            throw Self.error("a sample of '\(module)' has \(body.count) bytes: at most \(Self.sampleBytes) are taken; record it in parts")
        }
        self.module = module
        self.body = body
    }

    private static func message(_ measurement: SampleMeasurement) throws(DataSamplerError) -> WireMeasurement {
        var message = WireMeasurement()
        guard nameBytes.contains(measurement.name.utf8.count), measurement.name.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw error("a measurement's name must be 1 to 128 bytes of printable ASCII without spaces")
        }
        message.name = measurement.name
        guard unitBytes.contains(measurement.unit.utf8.count), measurement.unit.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw error("the unit of '\(measurement.name)' must be up to 32 bytes of printable ASCII without spaces (UCUM)")
        }
        message.unit = measurement.unit
        guard measurement.attributes.count <= maximumAttributes else {
            throw error("'\(measurement.name)' has \(measurement.attributes.count) attributes: at most \(maximumAttributes) are taken")
        }
        for (name, value) in measurement.attributes {
            guard attributeNameBytes.contains(name.utf8.count), value.utf8.count <= attributeValueBytes else {
                throw error("an attribute of '\(measurement.name)' is out of bounds: names have 1 to 64 bytes, values up to 256")
            }
        }
        message.attributes = measurement.attributes
        if case .string(let text) = measurement.value, text.utf8.count > textBytes {
            throw error("the text of '\(measurement.name)' has \(text.utf8.count) bytes: at most \(textBytes) are taken")
        }
        guard let value = measurement.value.wire else { throw error("the value of '\(measurement.name)' must be finite") }
        message.value = value
        return message
    }

    private static func error(_ text: String) -> DataSamplerError { DataSamplerError(.invalidModule, text) }
}
