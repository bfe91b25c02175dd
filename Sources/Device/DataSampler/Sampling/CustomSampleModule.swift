import FoundationEssentials
import MetricIntake
import SampleModules
import WireModel

/// A module of the application's own: a name, and measurements taken on the sampler's schedule.
///
/// Register it with ``DataSampler/register(_:)``. It is sampled where the profile (or, without one, the configuration)
/// names `custom` among the modules and nothing disables it by name.
public protocol CustomSampleModule: Sendable {
    /// 1 to 64 of `a-z A-Z 0-9 . _ -`, beginning with a letter; not the name of a built-in module. It never changes.
    var name: String { get }

    /// Seconds between two samples, 1 to 86,400, where neither profile nor configuration says; `nil`: the default
    /// interval.
    var sampleInterval: Double? { get }

    /// Takes the measurements of one sample.
    ///
    /// Called on the sampler's schedule, never twice at a time. What takes longer than 30 seconds is cancelled and
    /// counts as failed, and the module is not called again before it has returned; neither delays other modules. An
    /// empty list yields no sample.
    ///
    /// - Throws: whatever it failed at; status and trace show the error's description, so it must hold no data of a
    ///   person.
    func sample() async throws -> [SampleMeasurement]
}

extension CustomSampleModule {
    /// The default interval.
    public var sampleInterval: Double? { nil }
}

/// One measured value.
public struct SampleMeasurement: Equatable, Sendable {
    /// 1 to 128 bytes of printable ASCII without spaces, by custom in dots: `http.server.requests`.
    public var name: String
    /// UCUM: `By`, `ms`, `{request}`, `1`; up to 32 bytes of ASCII, empty where there is none.
    public var unit: String
    /// Up to 16, names of 1 to 64 bytes, values of up to 256 bytes.
    public var attributes: [String: String]
    /// Numbers must be finite, text has up to 1,024 bytes.
    public var value: EventValue

    /// Nothing is checked here; recording it does.
    public init(name: String, unit: String = "", attributes: [String: String] = [:], value: EventValue) {
        self.name = name
        self.unit = unit
        self.attributes = attributes
        self.value = value
    }
}

/// A custom module's sample, checked against its bounds and ready to be recorded.
struct CustomSample: Sendable {
    static let maximumMeasurements = 512
    /// Leaves room for the envelope in a record of 256 KiB.
    private static let sampleBytes = 240 * 1024

    let module: String
    let body: Data

    /// - Throws: `invalidModule` naming the measurement, the bound and the remedy.
    init(module: String, measurements: [SampleMeasurement]) throws(DataSamplerError) {
        if let objection = CustomModuleName.objection(to: module) { throw Self.error(objection) }
        guard (1...Self.maximumMeasurements).contains(measurements.count) else {
            throw Self.error(
                "\(measurements.count) measurements of '\(module)': it must be 1 to \(Self.maximumMeasurements)")
        }
        var sample = WireCustomSample()
        for measurement in measurements { sample.measurements.append(try Self.message(measurement)) }
        let body = sample.encoded
        guard body.count <= Self.sampleBytes else {
            throw Self.error(
                """
                a sample of '\(module)' has \(body.count) bytes: it may have at most \(Self.sampleBytes); record it in \
                parts
                """
            )
        }
        self.module = module
        self.body = body
    }

    /// As few samples as hold all measurements, in their order.
    static func parts(module: String, measurements: [SampleMeasurement]) throws(DataSamplerError) -> [CustomSample] {
        var samples: [CustomSample] = []
        var part: [SampleMeasurement] = []
        var bytes = 0
        for measurement in measurements {
            let size = try message(measurement).encoded.count + 8
            if part.count == maximumMeasurements || bytes + size > sampleBytes {
                samples.append(try CustomSample(module: module, measurements: part))
                (part, bytes) = ([], 0)
            }
            part.append(measurement)
            bytes += size
        }
        if !part.isEmpty { samples.append(try CustomSample(module: module, measurements: part)) }
        return samples
    }

    private static func message(_ measurement: SampleMeasurement) throws(DataSamplerError) -> WireMeasurement {
        var message = WireMeasurement()
        guard MetricBounds.isName(measurement.name) else {
            throw error("a measurement's name must be 1 to 128 bytes of printable ASCII without spaces")
        }
        message.name = measurement.name
        guard MetricBounds.isUnit(measurement.unit) else {
            throw error(
                "the unit of '\(measurement.name)' must be up to 32 bytes of printable ASCII without spaces (UCUM)")
        }
        message.unit = measurement.unit
        guard measurement.attributes.count <= MetricBounds.attributes else {
            throw error(
                """
                '\(measurement.name)' has \(measurement.attributes.count) attributes: it may have at most \
                \(MetricBounds.attributes)
                """
            )
        }
        for (name, value) in measurement.attributes {
            guard MetricBounds.attributeNameBytes.contains(name.utf8.count),
                value.utf8.count <= MetricBounds.attributeValueBytes
            else {
                throw error(
                    """
                    an attribute of '\(measurement.name)' is out of range: names have 1 to 64 bytes, values at most 256
                    """
                )
            }
        }
        message.attributes = measurement.attributes
        if case .string(let text) = measurement.value, text.utf8.count > MetricBounds.textBytes {
            throw error(
                """
                the text of '\(measurement.name)' has \(text.utf8.count) bytes: it may have at most \
                \(MetricBounds.textBytes)
                """
            )
        }
        guard let value = measurement.value.wire else {
            throw error("the value of '\(measurement.name)' must be finite")
        }
        message.value = value
        return message
    }

    private static func error(_ text: String) -> DataSamplerError { DataSamplerError(.invalidModule, text) }
}

/// The rules for a custom module's name: 1 to 64 of `a-z A-Z 0-9 . _ -`, beginning with a letter, and not the name of a
/// built-in module.
enum CustomModuleName {
    static let maximumBytes = 64

    /// Why a name cannot be; `nil`: it can.
    static func objection(to name: String) -> String? {
        guard (1...maximumBytes).contains(name.utf8.count), let first = name.utf8.first, isLetter(first),
            name.utf8.allSatisfy({ isLetter($0) || (0x30...0x39).contains($0) || [0x2E, 0x5F, 0x2D].contains($0) })
        else {
            return
                """
                module name '\(name.prefix(80))' is invalid: it must have 1 to \(maximumBytes) of a-z A-Z 0-9 . _ - \
                and begin with a letter
                """
        }
        guard SampleModuleName(rawValue: name) == nil else { return "'\(name)' is the name of a built-in module" }
        return nil
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte) || (0x41...0x5A).contains(byte) }
}
