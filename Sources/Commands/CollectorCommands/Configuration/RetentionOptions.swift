import ArgumentParser

/// The flags that say how long records are kept.
struct RetentionOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Days for which beacons and command results are kept (default: 90).", valueName: "days"))
    var retentionStatusDays: String?

    @Option(help: ArgumentHelp("Days for which events are kept (default: 90).", valueName: "days"))
    var retentionEventDays: String?

    @Option(help: ArgumentHelp("Days for which samples are kept (default: 30).", valueName: "days"))
    var retentionSampleDays: String?

    @Option(
        help: ArgumentHelp("Bytes that all days of the status stream may take; the oldest days go (default: no limit).", valueName: "bytes")
    )
    var retentionStatusBytes: String?

    @Option(help: ArgumentHelp("The same of the event stream.", valueName: "bytes"))
    var retentionEventBytes: String?

    @Option(help: ArgumentHelp("The same of the sample stream.", valueName: "bytes"))
    var retentionSampleBytes: String?

    var flags: [Setting: String] {
        var flags: [Setting: String] = [:]
        flags[.retentionStatusDays] = retentionStatusDays
        flags[.retentionEventDays] = retentionEventDays
        flags[.retentionSampleDays] = retentionSampleDays
        flags[.retentionStatusBytes] = retentionStatusBytes
        flags[.retentionEventBytes] = retentionEventBytes
        flags[.retentionSampleBytes] = retentionSampleBytes
        return flags
    }
}
