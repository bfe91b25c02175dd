/// A module of the application's own: a name, and measurements taken on the sampler's schedule.
///
/// Register it with ``DataSampler/register(_:)``. It is sampled where the profile (or, without one, the configuration) names `custom` among the
/// modules and nothing disables it by name.
public protocol CustomSampleModule: Sendable {
    /// 1 to 64 of `a-z A-Z 0-9 . _ -`, beginning with a letter; not the name of a built-in module. It never changes.
    var name: String { get }

    /// Seconds between two samples, 1 to 86,400, where neither profile nor configuration says; `nil`: the default interval.
    var sampleInterval: Double? { get }

    /// Takes the measurements of one sample.
    ///
    /// Called on the sampler's schedule, never twice at a time. What takes longer than 30 seconds is cancelled and counts as failed, and the
    /// module is not called again before it has returned; neither delays other modules. An empty list yields no sample.
    ///
    /// - Throws: whatever it failed at; status and trace show the error's description, so it must hold no data of a person.
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
