// Written by Tools/generate-wire from Schemas/wire/v1. Do not edit.
import WireModel

extension EnumName<WireRecordKind> {
    static var recordKind: Self {
        Self(
            prefix: "RECORD_KIND_",
            [
                ("beacon", .beacon),
                ("command-result", .commandResult),
                ("event", .event),
                ("sample-system", .sampleSystem),
                ("sample-analytics", .sampleAnalytics),
                ("sample-network-data", .sampleNetworkData),
                ("sample-network-adapter", .sampleNetworkAdapter),
                ("sample-wlan", .sampleWlan),
                ("sample-gps", .sampleGps),
                ("sample-custom", .sampleCustom),
                ("otlp-context", .otlpContext),
                ("otlp-log", .otlpLog),
                ("otlp-metrics", .otlpMetrics),
            ])
    }
}

extension EnumName<WireNetworkClass> {
    static var networkClass: Self {
        Self(
            prefix: "NETWORK_CLASS_",
            [
                ("unknown", .unknown),
                ("offline", .offline),
                ("ethernet", .ethernet),
                ("wifi", .wifi),
                ("cellular", .cellular),
                ("loopback", .loopback),
                ("tunnel", .tunnel),
                ("other", .other),
            ])
    }
}

extension EnumName<WireCommandState> {
    static var commandState: Self {
        Self(
            prefix: "COMMAND_STATE_",
            [
                ("queued", .unspecified),
                ("received", .received),
                ("running", .running),
                ("done", .done),
                ("failed", .failed),
                ("not-now", .notNow),
                ("expired", .expired),
                ("unsupported", .unsupported),
            ])
    }
}

extension EnumName<WirePrivacyAction> {
    static var privacyAction: Self {
        Self(
            prefix: "PRIVACY_ACTION_",
            [
                ("send", .send),
                ("hash", .hash),
                ("coarsen", .coarsen),
                ("drop", .drop),
            ])
    }
}

extension EnumName<WireLogLevel> {
    static var logLevel: Self {
        Self(
            prefix: "LOG_LEVEL_",
            [
                ("error", .error),
                ("warning", .warning),
                ("information", .information),
                ("verbose", .verbose),
                ("info", .information),
                ("debug", .verbose),
            ])
    }
}

extension EnumName<WireLogType> {
    static var logType: Self {
        Self(
            prefix: "LOG_TYPE_",
            [
                ("all", .unspecified),
                ("application", .application),
                ("crash", .crash),
            ])
    }
}

extension EnumName<WireRequestLogs.Mode> {
    static var mode: Self {
        Self(
            prefix: "MODE_",
            [
                ("snapshot", .snapshot),
                ("capture", .capture),
            ])
    }
}
