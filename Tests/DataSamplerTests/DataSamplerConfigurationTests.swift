import Testing

@testable import DataSampler

@Suite struct DataSamplerConfigurationTests {
    private func configuration(_ change: (inout DataSamplerConfiguration) -> Void) -> DataSamplerConfiguration {
        var configuration = DataSamplerConfiguration(
            sampleModules: .system, defaultSampleInterval: 60, defaultTransmitInterval: 300, traceLevel: .off,
            directory: "/nonexistent",
            collectorURL: "http://localhost:8420")
        change(&configuration)
        return configuration
    }

    private static let refused: [Double] = [0, -1, -.infinity, .infinity, .nan, 0.999, 86_400.001]
    private static let taken: [Double] = [1, 1.5, 60, 86_400]

    @Test(arguments: refused) func `Intervals outside 1 s to 1 d, NaN and infinite are refused, naming the range`(
        value: Double
    ) {
        let changes: [(inout DataSamplerConfiguration) -> Void] = [
            { $0.defaultSampleInterval = value }, { $0.defaultTransmitInterval = value },
            { $0.moduleIntervals = ["system": .init(sampleInterval: value)] },
            { $0.moduleIntervals = ["system": .init(transmitInterval: value)] },
        ]
        for change in changes {
            let error = #expect(throws: DataSamplerError.self) { try configuration(change).validate() }
            #expect(error?.code == .invalidConfiguration)
            #expect(error?.message.contains("1 to 86400 seconds") == true)
        }
    }

    @Test(arguments: taken) func `Intervals from 1 s to 1 d are taken`(value: Double) throws {
        try configuration {
            $0.defaultSampleInterval = value
            $0.defaultTransmitInterval = value
            $0.moduleIntervals = ["system": .init(sampleInterval: value, transmitInterval: value)]
        }.validate()
    }

    @Test func `What else is out of range is refused`() {
        let changes: [(inout DataSamplerConfiguration) -> Void] = [
            { $0.eventHold = -1 }, { $0.eventHold = .nan }, { $0.eventHold = 259_201 }, { $0.lossWindow = -0.1 },
            { $0.lossWindow = 61 },
            { $0.beaconInterval = 59 }, { $0.beaconInterval = .infinity }, { $0.directory = "" },
            { $0.collectorURL = "localhost" },
            { $0.collectorURL = "" }, { $0.proxyURL = "https://proxy" }, { $0.sampleModules = .callLog },
            { $0.disabledModules = ["callLog"] },
            { $0.sampleModules = [.system, .callLog] }, { $0.sampleModules = DataSamplerModules(rawValue: 1 << 31) },
            { $0.moduleIntervals = ["systm": .init(sampleInterval: 5)] }, { $0.disabledModules = ["systm"] },
            { $0.privacy = ["adress": .drop] }, { $0.privacy = ["technical": .drop] }, { $0.offlineTimeAllowed = 0 },
            { $0.credentialDays = -1 }, { $0.credentialDays = 3651 }, { $0.credentialDays = .nan },
            { $0.budgets = DataSamplerBudgets(sentBytesPerDay: 0) },
            { $0.budgets = DataSamplerBudgets(processorShare: 1000.5) },
            { $0.logRetention.bytes = 999_999 }, { $0.logRetention.days = 0.9 }, { $0.logRetention.days = .nan },
            { $0.logRetention.verboseRingBytes = 99_999 }, { $0.logRetention.verboseRingBytes = -1 },
        ]
        for change in changes {
            let error = #expect(throws: DataSamplerError.self) { try configuration(change).validate() }
            #expect(error?.code == .invalidConfiguration)
        }
    }

    @Test func `The call log is not offered by this platform, never passed over`() {
        let error = #expect(throws: DataSamplerError.self) {
            try configuration { $0.sampleModules = .callLog }.validate()
        }
        #expect(error?.message.contains("not offered by this platform") == true)
        #expect(throws: DataSamplerError.self) { try DataSamplerModules(names: ["callLog"]) }
    }

    @Test(arguments: ["1", "System", "", "systm"]) func `Modules are given by name, never by number`(name: String) {
        #expect(throws: DataSamplerError.self) { try DataSamplerModules(names: [name]) }
    }

    @Test(
        arguments: [
            ("off", .off), ("error", .error), ("warning", .warning), ("info", .information),
            ("information", .information),
            ("debug", .verbose), ("Verbose", .verbose), ("loud", nil), ("", nil),
        ] as [(String, TraceLevel?)]) func `Trace levels go by name`(name: String, expected: TraceLevel?)
    {
        #expect(TraceLevel(name: name) == expected)
    }

    @Test func `The trace level is warning where none is given`() {
        let configuration = DataSamplerConfiguration(directory: "/nonexistent", collectorURL: "http://localhost:8420")
        #expect(configuration.traceLevel == .warning)
    }
}
