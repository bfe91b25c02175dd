// swift-tools-version: 6.2

import PackageDescription

/// For all our targets. Warnings are errors, except when another package depends on this one.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
]

let swiftProtobuf: Target.Dependency = .product(name: "SwiftProtobuf", package: "swift-protobuf")
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let nioCore: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nioPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio")
let nioHTTP1: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio")
let nioSSL: Target.Dependency = .product(name: "NIOSSL", package: "swift-nio-ssl")
let httpTypes: Target.Dependency = .product(name: "HTTPTypes", package: "swift-http-types")
let hummingbird: Target.Dependency = .product(name: "Hummingbird", package: "hummingbird")
let hummingbirdCore: Target.Dependency = .product(name: "HummingbirdCore", package: "hummingbird")
let hummingbirdTesting: Target.Dependency = .product(name: "HummingbirdTesting", package: "hummingbird")
let nioHTTPTypes: Target.Dependency = .product(name: "NIOHTTPTypes", package: "swift-nio-extras")
let nioCertificateReloading: Target.Dependency = .product(name: "NIOCertificateReloading", package: "swift-nio-extras")
let swiftASN1: Target.Dependency = .product(name: "SwiftASN1", package: "swift-asn1")
let cryptoExtras: Target.Dependency = .product(name: "CryptoExtras", package: "swift-crypto")
let x509: Target.Dependency = .product(name: "X509", package: "swift-certificates")
let nioHTTPTypesHTTP1: Target.Dependency = .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras")
let hummingbirdTLS: Target.Dependency = .product(name: "HummingbirdTLS", package: "hummingbird")
let asyncHTTPClient: Target.Dependency = .product(name: "AsyncHTTPClient", package: "async-http-client")
let metrics: Target.Dependency = .product(name: "CoreMetrics", package: "swift-metrics")
let metricsConvenience: Target.Dependency = .product(name: "Metrics", package: "swift-metrics")
let lifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let unixSignals: Target.Dependency = .product(name: "UnixSignals", package: "swift-service-lifecycle")
let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let mustache: Target.Dependency = .product(name: "Mustache", package: "swift-mustache")
let yams: Target.Dependency = .product(name: "Yams", package: "Yams")

/// The folders below Sources. Each has a page about the way of a record through it.
enum Room: String {
    case shared = "Shared"
    case device = "Device"
    case collector = "Collector"
    case commands = "Commands"

    func path(_ target: String) -> String { "Sources/\(rawValue)/\(target)" }
}

func target(
    _ name: String, in room: Room, _ dependencies: [Target.Dependency], exclude: [String] = [],
    additional: [SwiftSetting] = []
) -> Target {
    .target(
        name: name, dependencies: dependencies, path: room.path(name), exclude: exclude,
        swiftSettings: settings + additional)
}

func program(_ name: String, _ commands: Target.Dependency) -> Target {
    .executableTarget(name: name, dependencies: [commands], path: Room.commands.path(name), swiftSettings: settings)
}

func library(
    _ name: String, in room: Room = .shared, pkgConfig: String? = nil, providers: [SystemPackageProvider]? = nil
) -> Target {
    .systemLibrary(name: name, path: room.path(name), pkgConfig: pkgConfig, providers: providers)
}

func tests(
    _ name: String, _ dependencies: [Target.Dependency], exclude: [String] = [], resources: [Resource] = []
) -> Target {
    .testTarget(
        name: "\(name)Tests", dependencies: [.init(stringLiteral: name)] + dependencies,
        exclude: exclude, resources: resources, swiftSettings: settings)
}

let package = Package(
    name: "ws1-telemetry",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "DataSampler", targets: ["DataSampler"]),
        .library(name: "LogStore", targets: ["LogStore"]),
        .library(name: "DataSamplerMetrics", targets: ["DataSamplerMetrics"]),
        .library(name: "AWSDK", targets: ["AWSDK"]),
        .executable(name: "ws1agent", targets: ["ws1agent"]),
        .executable(name: "ws1log", targets: ["ws1log"]),
        .executable(name: "ws1collector", targets: ["ws1collector"]),
        .executable(name: "ws1ctl", targets: ["ws1ctl"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-protobuf.git", from: "1.39.0", traits: []),
        .package(url: "https://github.com/apple/swift-crypto.git", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics.git", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras.git", from: "1.34.1"),
        .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-certificates.git", from: "1.21.1"),
        .package(url: "https://github.com/apple/swift-asn1.git", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-http-types.git", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.13.0"),
        .package(url: "https://github.com/swift-server/async-http-client.git", from: "1.37.0"),
        .package(
            url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.1", traits: ["FullFoundation"]),
        .package(url: "https://github.com/hummingbird-project/swift-mustache.git", from: "2.1.1"),
        .package(url: "https://github.com/jpsim/Yams.git", from: "6.2.2"),
    ],
    targets: [
        // System libraries.
        library("CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        library("CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        library("CZstd", in: .collector, pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),
        // glibc's <malloc.h>; the Glibc module lacks it.
        library("CMalloc"),
        // Linux's copy_file_range; the Glibc module lacks it too.
        library("CFileCopy"),
        // libpq, declared here and opened at run time: a build needs no libpq-dev, only a collector with PostgreSQL
        // needs libpq5.
        library("CLibPQ"),
        // libmosquitto and the OpenSSL below it, in the same way: only a device or collector with a broker needs
        // libmosquitto1.
        library("CLibMosquitto"),

        // Device and collector.
        target("TelemetryBasics", in: .shared, []),
        target("WireModel", in: .shared, ["TelemetryBasics", swiftProtobuf, crypto]),
        // A device signs its wipe certificates, a collector verifies them.
        target("WipeCertificates", in: .shared, ["WireModel", crypto]),
        // The OpenTelemetry protocol.
        target("OTLP", in: .shared, ["TelemetryBasics", swiftProtobuf]),
        target("Gzip", in: .shared, ["CZlib"]),
        target("SQLite", in: .shared, ["TelemetryBasics", "CSQLite"]),
        target(
            "HTTPConnection", in: .shared,
            ["TelemetryBasics", "WireModel", asyncHTTPClient, nioCore, nioPosix, nioHTTP1, nioSSL]),
        target("MQTTClient", in: .shared, ["TelemetryBasics", "WireModel", "CLibMosquitto", crypto]),

        // Device, in flow order.
        // The values somebody may tune, for all of these.
        target("DeviceTunables", in: .device, []),
        target("SampleModules", in: .device, ["TelemetryBasics", "WireModel", logging]),
        target(
            "RecordQueue", in: .device,
            ["DeviceTunables", "TelemetryBasics", "WireModel", "SQLite", "Encryption", swiftProtobuf, logging]),
        target(
            "LogStore", in: .device,
            [
                "DeviceTunables", "TelemetryBasics", "WireModel", "Encryption", "Gzip", "CFileCopy", crypto, logging,
            ]),
        // Programs that the agent starts.
        target("HelperProcesses", in: .device, []),
        // Sockets at which other programs reach the agent.
        target("ListeningSockets", in: .device, ["TelemetryBasics"]),
        // What machines write into files and programs send, taken into the log store.
        target(
            "Intake", in: .device,
            [
                "TelemetryBasics", "WireModel", "LogStore", "Gzip", "OTLP", "HelperProcesses", "ListeningSockets",
                swiftProtobuf, nioCore, nioPosix, nioHTTP1,
            ]),
        // Metrics of other programs, taken in as custom samples.
        target(
            "MetricIntake", in: .device,
            ["WireModel", "HelperProcesses", "ListeningSockets", "HTTPConnection", nioCore, nioPosix]),
        target(
            "Transmitter", in: .device,
            ["DeviceTunables", "TelemetryBasics", "WireModel", "RecordQueue", "Gzip", swiftProtobuf, logging]),
        target("ControlSocket", in: .device, ["TelemetryBasics", "WireModel"]),
        target("Privacy", in: .device, ["WireModel", crypto]),
        target("Encryption", in: .device, ["TelemetryBasics", "WireModel", crypto, cryptoExtras, logging]),
        target(
            "HTTPTransport", in: .device,
            [
                "TelemetryBasics", "WireModel", "Transmitter", "HTTPConnection", asyncHTTPClient, crypto, nioCore,
                nioPosix, nioSSL,
            ]),
        target(
            "MQTTTransport", in: .device,
            ["TelemetryBasics", "WireModel", "Transmitter", "MQTTClient", crypto]),
        target(
            "DataSampler", in: .device,
            [
                "DeviceTunables", "TelemetryBasics", "WireModel", "SampleModules", "RecordQueue", "LogStore",
                "ListeningSockets", "Intake", "MetricIntake", "OTLP", "Transmitter", "Privacy", "Encryption",
                "WipeCertificates", "HTTPConnection", "HTTPTransport", "MQTTClient", "MQTTTransport", swiftProtobuf,
                crypto,
                lifecycle, logging, metrics,
            ]),
        target("DataSamplerMetrics", in: .device, ["DataSampler", metrics]),
        // The names that ws1 documents, over DataSampler.
        target("AWSDK", in: .device, ["DataSampler", "LogStore", "WireModel", logging]),
        // Shared by the three programs: settings, start and end, output.
        target("CommandKit", in: .commands, ["TelemetryBasics", "WireModel", argumentParser, logging]),
        target(
            "AgentCommands", in: .commands,
            [
                "TelemetryBasics", "CommandKit", "DataSampler", "RecordQueue", "LogStore", "Transmitter",
                "Encryption", "ControlSocket", "Intake", "HelperProcesses", "WireModel",
                "WipeCertificates", "Gzip", "CMalloc",
                nioCore, nioPosix,
                argumentParser, lifecycle, unixSignals,
                logging,
            ]),
        target(
            "CollectorClient", in: .commands,
            [
                "TelemetryBasics", "WireModel", "HTTPConnection", "CollectorAPI", "Gzip", asyncHTTPClient, nioCore,
                nioPosix,
            ]),
        target(
            "LogCommands", in: .commands,
            [
                "TelemetryBasics", "CommandKit", "LogStore", "Encryption", "ControlSocket", "WireModel", "Gzip",
                "HTTPConnection", "CollectorAPI", "CollectorClient", crypto, argumentParser,
            ]),
        target(
            "CtlCommands", in: .commands,
            [
                "TelemetryBasics", "CommandKit", "WireModel", "HTTPConnection", "JSON", "CollectorAPI",
                "CollectorClient",
                argumentParser, yams,
            ]),
        program("ws1ctl", "CtlCommands"),
        program("ws1log", "LogCommands"),
        program("ws1agent", "AgentCommands"),

        // Collector, in flow order.
        target("JSON", in: .collector, []),
        target("Zstd", in: .collector, ["CZstd"]),
        target("CollectorAPI", in: .collector, ["WireModel", "JSON"]),
        target("MetricCatalog", in: .collector, ["WireModel", swiftProtobuf]),
        target("RecordViews", in: .collector, ["TelemetryBasics", "WireModel", "OTLP", "JSON", swiftProtobuf]),
        // The values somebody may tune, for all targets of the collector.
        target("CollectorTunables", in: .collector, []),
        target("PostgreSQL", in: .collector, ["CollectorTunables", "TelemetryBasics", "CLibPQ", logging]),
        // The port of record stores, with its values. It knows no engine.
        target("RecordStore", in: .collector, ["TelemetryBasics", "WireModel", crypto]),
        // Records of one device and module in columns. It knows bytes and no messages.
        target("RecordBlocks", in: .collector, ["CZlib"]),
        target(
            "Registry", in: .collector,
            [
                "CollectorTunables", "TelemetryBasics", "WireModel", "WipeCertificates", "CollectorAPI", "SQLite",
                "RecordStore", crypto, logging,
            ]),
        target(
            "LogArchive", in: .collector,
            ["CollectorTunables", "TelemetryBasics", "WireModel", "Gzip", "RecordStore", "Registry", crypto, logging]),
        // Keeps the marks of removed files in the registry's file, so it knows that.
        target(
            "SQLiteRecordStore", in: .collector,
            [
                "CollectorTunables", "TelemetryBasics", "WireModel", "SQLite", "Zstd", "RecordBlocks", "RecordStore",
                "Registry", logging,
            ]),
        // What needs several of these rooms.
        target(
            "CollectorMaintenance", in: .collector,
            [
                "CollectorTunables", "TelemetryBasics", "WireModel", "SQLite", "RecordStore",
                "Registry", "LogArchive",
                "SQLiteRecordStore",
                crypto, logging,
            ]),
        target(
            "ClusterRegistry", in: .collector,
            ["CollectorTunables", "TelemetryBasics", "RecordStore", "Registry", "PostgreSQL", "WireModel", logging]),
        target(
            "ObjectStorage", in: .collector,
            [
                "TelemetryBasics", "WireModel", "HTTPConnection", "RecordStore", "LogArchive", asyncHTTPClient, nioCore,
                nioPosix, crypto,
            ]),
        target(
            "Console", in: .collector, ["TelemetryBasics", "WireModel", "CollectorAPI", "Gzip", "JSON", mustache],
            exclude: ["Assets"]),
        target(
            "Collector", in: .collector,
            [
                "CollectorTunables", "TelemetryBasics", "WireModel", "WipeCertificates", "JSON", "Console",
                "CollectorAPI", "MetricCatalog", "RecordViews", "OTLP",
                "RecordStore", "Registry", "LogArchive", "Gzip", "Zstd",
                swiftProtobuf, hummingbird,
                hummingbirdCore,
                hummingbirdTLS, nioCore, nioPosix,
                nioSSL, nioHTTP1, nioHTTPTypes, nioHTTPTypesHTTP1, httpTypes, lifecycle, nioCertificateReloading, x509,
                swiftASN1, crypto,
                cryptoExtras, logging, metrics, metricsConvenience,
            ]),
        // Sends records on as OTLP.
        target(
            "Forwarding", in: .collector,
            [
                "CollectorTunables", "TelemetryBasics", "WireModel", "JSON", "OTLP", "MetricCatalog", "RecordViews",
                "RecordStore", "Registry", "LogArchive", "Gzip", "HTTPConnection", swiftProtobuf, asyncHTTPClient,
                nioPosix, metrics, logging,
            ]),
        // Devices that come through a message broker; it brings libmosquitto.
        target(
            "MQTTIntake", in: .collector,
            [
                "WireModel", "MQTTClient", "RecordStore", "Registry", "Collector", hummingbirdCore,
                nioCore, httpTypes, crypto, logging, metrics,
            ]),
        target(
            "ClickHouse", in: .collector,
            [
                "CollectorTunables", "TelemetryBasics", "WireModel", "Gzip", "HTTPConnection", asyncHTTPClient, nioCore,
                nioHTTP1, nioPosix,
                logging,
            ]),
        target(
            "ClusterStore", in: .collector,
            [
                "CollectorTunables", "TelemetryBasics", "WireModel", "JSON", "MetricCatalog", "RecordViews",
                "RecordStore", "PostgreSQL",
                "ClickHouse",
                logging,
            ],
            // Tests kill the program at these points. A shipped program must not have them (Tools/checks/failpoints).
            additional: [.define("FAILPOINTS", .when(configuration: .debug))]),
        // Moves a data directory into a cluster; only its command uses it.
        target(
            "ClusterMove", in: .collector,
            [
                "TelemetryBasics", "WireModel", "RecordStore", "Registry", "LogArchive", "CollectorMaintenance",
                "ClusterStore", "ClusterRegistry", logging,
            ]),
        target(
            "CollectorCommands", in: .commands,
            [
                "CollectorTunables", "TelemetryBasics", "CommandKit", "HTTPConnection", "Collector", "Console",
                "MQTTClient", "MQTTIntake", "Forwarding",
                "CollectorAPI",
                "RecordStore", "Registry", "LogArchive", "SQLiteRecordStore", "CollectorMaintenance", "ClusterStore",
                "ClusterRegistry", "ClusterMove", "ObjectStorage", "PostgreSQL", "ClickHouse",
                "WireModel", "WipeCertificates",
                asyncHTTPClient, nioHTTP1,
                nioSSL,
                argumentParser,
                yams, nioCore, nioPosix, lifecycle, unixSignals, logging,
            ]),
        program("ws1collector", "CollectorCommands"),
        // A tool for tests of a collector. It is not among the products, and Tools/build-release does not build it.
        target(
            "FleetSimulator", in: .collector,
            [
                "TelemetryBasics", "WireModel", "CommandKit", "CollectorAPI", "Gzip", "MQTTClient", "MQTTTransport",
                argumentParser, asyncHTTPClient, nioCore, nioHTTP1,
            ]),
        program("fleet-simulator", "FleetSimulator"),

        // Tests.
        .target(name: "TestKit", path: "Tests/Support/TestKit", swiftSettings: settings),
        .target(
            name: "DeviceTestKit",
            dependencies: [
                "TestKit", "TelemetryBasics", "WireModel", "SampleModules", "RecordQueue", "Transmitter",
            ],
            path: "Tests/Support/DeviceTestKit", exclude: ["CapturedHost/Machines"],
            swiftSettings: settings),
        .target(
            name: "StoreTestKit",
            dependencies: [
                "TestKit", "DeviceTestKit", "WireModel", "SQLite", "Gzip", "Transmitter", "RecordStore", logging,
            ],
            path: "Tests/Support/StoreTestKit", swiftSettings: settings),
        .target(
            name: "LogArchiveTestKit", dependencies: ["TestKit", "WireModel", "RecordStore", "LogArchive"],
            path: "Tests/Support/LogArchiveTestKit", swiftSettings: settings),
        .target(
            name: "RegistryTestKit",
            dependencies: [
                "TestKit", "StoreTestKit", "PostgresTestKit", "TelemetryBasics", "WireModel", "Gzip", "RecordStore",
                "Registry", "LogArchive", "ClusterRegistry", "PostgreSQL", crypto, logging,
            ],
            path: "Tests/Support/RegistryTestKit", swiftSettings: settings),
        .target(
            name: "SQLiteStoreTestKit",
            dependencies: [
                "TestKit", "StoreTestKit", "RecordStore", "SQLiteRecordStore", "CollectorMaintenance", "WireModel",
            ],
            path: "Tests/Support/SQLiteStoreTestKit", swiftSettings: settings),
        // Not shipped; Tools/checks/costs runs it.
        .executableTarget(
            name: "cost-probe",
            dependencies: [
                "DeviceTestKit", "StoreTestKit", "SQLiteRecordStore", "LogStore", "RecordQueue",
                "SampleModules", "WireModel", logging,
            ],
            path: "Tests/Support/CostProbe", swiftSettings: settings),
        .target(
            name: "HTTPTestKit", dependencies: ["TestKit", nioCore, nioPosix, nioSSL],
            path: "Tests/Support/HTTPTestKit", swiftSettings: settings),
        .target(
            name: "ClickHouseTestKit",
            dependencies: ["ClickHouse", "TestKit", nioCore, nioPosix, logging],
            path: "Tests/Support/ClickHouseTestKit", swiftSettings: settings),
        .target(
            name: "BrowserTestKit", dependencies: ["TestKit", "Transmitter", "JSON"],
            path: "Tests/Support/BrowserTestKit", swiftSettings: settings),
        .target(
            name: "PostgresTestKit", dependencies: ["TestKit"], path: "Tests/Support/PostgresTestKit",
            swiftSettings: settings),
        .target(
            name: "MosquittoTestKit", dependencies: ["TestKit"], path: "Tests/Support/MosquittoTestKit",
            swiftSettings: settings),
        tests("TelemetryBasics", ["TestKit"]),
        tests("WireModel", ["TelemetryBasics", crypto, swiftProtobuf]),
        tests("WipeCertificates", ["TestKit", "WireModel"]),
        tests("OTLP", ["Gzip", swiftProtobuf], exclude: ["Captured"]),
        tests("Gzip", ["TestKit"]),
        tests("SQLite", ["TestKit"]),
        tests("SampleModules", ["TestKit", "DeviceTestKit", "WireModel", "MetricCatalog", swiftProtobuf, logging]),
        tests(
            "RecordQueue",
            [
                "DeviceTunables", "TestKit", "DeviceTestKit", "TelemetryBasics", "WireModel", "SQLite", "Encryption",
                swiftProtobuf, crypto, logging,
            ]),
        tests("HelperProcesses", ["TestKit"]),
        tests("ListeningSockets", ["TestKit"]),
        tests(
            "Intake",
            [
                "TestKit", "WireModel", "LogStore", "Gzip", "OTLP", "HelperProcesses", "ListeningSockets",
                swiftProtobuf, nioHTTP1,
            ]),
        tests("MetricIntake", ["TestKit", "HTTPTestKit", "HelperProcesses", "ListeningSockets"]),
        tests(
            "LogStore",
            ["TestKit", "DeviceTestKit", "TelemetryBasics", "WireModel", "Encryption", "Gzip", crypto, logging]),
        tests(
            "Transmitter",
            [
                "DeviceTunables", "TestKit", "DeviceTestKit", "StoreTestKit", "WireModel", "RecordQueue", "RecordStore",
                "Gzip", logging,
            ]),
        tests("HTTPConnection", ["TestKit", "WireModel"]),
        tests(
            "HTTPTransport",
            ["TestKit", "WireModel", "Transmitter", "HTTPConnection", "HTTPTestKit", nioCore, nioPosix, nioSSL]),
        tests("MQTTClient", ["TestKit", "MosquittoTestKit"]),
        tests(
            "MQTTTransport",
            ["TestKit", "MosquittoTestKit", "MQTTClient", "Transmitter", "WireModel", crypto]),
        tests("Privacy", ["WireModel", swiftProtobuf]),
        tests("Encryption", ["TestKit", "TelemetryBasics", "WireModel", crypto, logging]),
        tests(
            "DataSampler",
            [
                "TestKit", "DeviceTestKit", "StoreTestKit", "DeviceTunables", "Privacy", "Encryption",
                "WipeCertificates", "TelemetryBasics", "WireModel", "SampleModules", "SQLite", "RecordQueue",
                "LogStore", "Intake", "MetricIntake", "OTLP", "Transmitter", "MQTTClient", "MQTTTransport",
                "RecordStore",
                swiftProtobuf, logging, metrics,
            ]),
        tests("DataSamplerMetrics", ["DataSampler", metrics]),
        tests(
            "AWSDK",
            [
                "TestKit", "DeviceTestKit", "StoreTestKit", "DataSampler", "LogStore", "RecordStore", "Transmitter",
                "WireModel", logging,
            ]),
        tests("CommandKit", ["TelemetryBasics", "AgentCommands", "CollectorCommands", argumentParser]),
        tests(
            "AgentCommands",
            [
                "TestKit", "DeviceTestKit",
                "TelemetryBasics", "CommandKit", "DataSampler", "LogStore", "Intake", "Transmitter", "ControlSocket",
                "WireModel", "Gzip", argumentParser, nioCore, logging,
            ]),
        tests("CollectorClient", ["TelemetryBasics", "WireModel", "HTTPConnection", "HTTPTestKit"]),
        tests(
            "LogCommands",
            [
                "TestKit", "DeviceTestKit",
                "TelemetryBasics", "CommandKit", "LogStore", "Encryption", "ControlSocket", "CollectorAPI",
                "CollectorClient", "WireModel", "Gzip", "ws1log", crypto, argumentParser, logging,
            ]),
        tests(
            "CtlCommands",
            ["TestKit", "TelemetryBasics", "CommandKit", "CollectorClient", "JSON", "WireModel", argumentParser]),
        tests("JSON", ["WireModel"]),
        tests("Console", ["TestKit", "TelemetryBasics", "WireModel", "CollectorAPI", "JSON"]),
        tests("MetricCatalog", ["WireModel", swiftProtobuf]),
        tests("RecordViews", ["WireModel", "OTLP", "JSON", swiftProtobuf]),
        tests("PostgreSQL", ["TestKit", "PostgresTestKit", logging]),
        tests(
            "ClusterRegistry",
            [
                "CollectorAPI", "CollectorTunables", "RecordStore", "Registry", "LogArchive", "WireModel", "PostgreSQL",
                "PostgresTestKit", logging,
            ]),
        tests("RecordStore", ["StoreTestKit", "WireModel"]),
        tests("RecordBlocks", ["TestKit"]),
        tests("Zstd", ["TestKit"]),
        tests(
            "Registry",
            [
                "CollectorAPI", "CollectorTunables", "TestKit", "DeviceTestKit", "StoreTestKit",
                "RegistryTestKit", "WireModel", "WipeCertificates", "SQLite", "RecordStore",
                "LogArchive",
            ]),
        tests(
            "LogArchive",
            [
                "TestKit", "StoreTestKit", "LogArchiveTestKit", "RegistryTestKit", "SQLiteStoreTestKit",
                "TelemetryBasics", "WireModel", "Gzip", "RecordStore", "Registry", crypto,
            ]),
        tests(
            "SQLiteRecordStore",
            [
                "CollectorAPI", "TestKit", "StoreTestKit", "RegistryTestKit", "SQLiteStoreTestKit", "WireModel",
                "SQLite",
                "RecordStore", "Registry", "LogArchive", "CollectorMaintenance",
            ]),
        tests(
            "CollectorMaintenance",
            [
                "CollectorAPI", "CollectorTunables", "TestKit", "DeviceTestKit", "StoreTestKit", "RegistryTestKit",
                "SQLiteStoreTestKit", "TelemetryBasics",
                "WireModel", "SQLite", "RecordStore", "Registry", "LogArchive", "SQLiteRecordStore",
            ]),
        tests(
            "ObjectStorage",
            [
                "TestKit", "LogArchiveTestKit", "HTTPTestKit", "TelemetryBasics", "WireModel", "RecordStore",
                "Registry",
                "LogArchive", "Gzip", nioPosix, crypto, logging,
            ]),
        tests(
            "Collector",
            [
                "CollectorTunables", "TestKit", "DeviceTestKit", "StoreTestKit",
                "TelemetryBasics", "WireModel", "JSON", "Console", "SQLite", "MetricCatalog", "RecordStore", "Registry",
                "LogArchive", "SQLiteRecordStore", "CollectorMaintenance",
                "CommandKit",
                "CollectorCommands",
                "MQTTClient", "Forwarding",
                "ws1collector",
                "ws1log", "Gzip", "Zstd",
                "RecordQueue", "Transmitter", "CollectorAPI", "HTTPConnection", "HTTPTransport", "HTTPTestKit",
                "ClusterStore", "ClickHouse", "OTLP", swiftProtobuf,
                hummingbird, hummingbirdCore, hummingbirdTesting, nioCore, nioPosix,
                nioHTTP1, nioSSL,
                httpTypes, asyncHTTPClient, argumentParser,
                yams, crypto, logging, metrics,
            ]),
        tests(
            "Forwarding",
            [
                "CollectorTunables", "TestKit", "StoreTestKit", "RegistryTestKit", "WireModel", "OTLP", "MetricCatalog",
                "RecordStore", "Registry", "LogArchive", "SQLiteRecordStore", "HTTPConnection", "HTTPTestKit",
                swiftProtobuf,
                metrics,
            ]),
        tests(
            "MQTTIntake",
            [
                "TestKit", "MosquittoTestKit", "StoreTestKit", "WireModel", "Gzip", "MQTTClient",
                "RecordStore", "Registry", "LogArchive", "Collector", nioCore, httpTypes, crypto, logging,
            ]),
        tests(
            "ClickHouse",
            ["TestKit", "ClickHouseTestKit", "HTTPConnection", "HTTPTestKit", logging, nioCore, nioHTTP1]),
        tests(
            "ClusterStore",
            [
                "TestKit", "StoreTestKit",
                "RecordStore", "PostgreSQL", "ClickHouse", "WireModel", "PostgresTestKit",
                "ClickHouseTestKit", logging,
            ]),
        tests(
            "ClusterMove",
            [
                "CollectorAPI", "StoreTestKit", "LogArchiveTestKit",
                "RecordStore", "Registry", "LogArchive", "SQLiteRecordStore", "CollectorMaintenance", "ClusterStore",
                "ClusterRegistry", "ObjectStorage", "PostgreSQL", "ClickHouse", "TelemetryBasics", "WireModel",
                "SQLite", "Gzip", "PostgresTestKit",
                "ClickHouseTestKit",
                crypto, logging,
            ]),
        tests(
            "FleetSimulator",
            [
                "WireModel", "RecordStore", "Registry", "LogArchive", "SQLiteRecordStore", "CollectorMaintenance",
                "Collector", argumentParser, hummingbird, hummingbirdTesting, logging,
            ]),
        tests("BrowserTestKit", ["JSON", nioCore, nioPosix, nioHTTP1]),
        .testTarget(
            name: "ExactlyOnceTests",
            dependencies: [
                "TestKit", "DeviceTestKit", "StoreTestKit", "WireModel", "RecordQueue", "Transmitter", "RecordStore",
                "SQLiteRecordStore", logging,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "CollectorAPI", "TestKit", "DeviceTestKit", "LogArchiveTestKit", "MosquittoTestKit",
                "WireModel", "Gzip", "JSON", "Console", "RecordQueue", "SQLite", "BrowserTestKit",
                "ClickHouseTestKit", "PostgresTestKit", "ClickHouse", "ObjectStorage", logging, asyncHTTPClient,
                nioCore, nioPosix, nioHTTP1, "ws1agent", "ws1collector", "ws1ctl", "ws1log",
                "fleet-simulator",
            ],
            exclude: [
                "Support/wall-clock.c", "Support/disk-writes.c", "Support/journal.c", "Support/interrupts.c",
                "Support/kill-steps.c", "OTLP/otlp-sdk.py", "OTLP/otlp-kills.py",
                "OTLP/forward-compare.py", "OTLP/forward-receiver.py",
            ],
            swiftSettings: settings),
    ]
)
