// swift-tools-version: 6.2

import PackageDescription

// The measured targets are the product's own, by symbolic links. `package` access ends at a package's border, and we
// make nothing public only to measure it.

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
]

let swiftProtobuf: Target.Dependency = .product(name: "SwiftProtobuf", package: "swift-protobuf")
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let cryptoExtras: Target.Dependency = .product(name: "CryptoExtras", package: "swift-crypto")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let asyncHTTPClient: Target.Dependency = .product(name: "AsyncHTTPClient", package: "async-http-client")
let nioCore: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nioPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio")
let nioHTTP1: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio")
let nioSSL: Target.Dependency = .product(name: "NIOSSL", package: "swift-nio-ssl")
let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")

func target(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

let package = Package(
    name: "ws1-telemetry-benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(url: "https://github.com/apple/swift-protobuf.git", from: "1.39.0", traits: []),
        .package(url: "https://github.com/apple/swift-crypto.git", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.37.6"),
        .package(url: "https://github.com/swift-server/async-http-client.git", from: "1.37.0"),
    ],
    targets: [
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),
        .systemLibrary(name: "CFileCopy"),
        target("TelemetryBasics", []),
        target("WireModel", ["TelemetryBasics", swiftProtobuf, crypto]),
        target("MetricCatalog", ["WireModel", swiftProtobuf]),
        target("Gzip", ["CZlib"]),
        target("SQLite", ["TelemetryBasics", "CSQLite"]),
        target("Zstd", ["CZstd"]),
        target("RecordBlocks", ["CZlib"]),
        target("DeviceTunables", []),
        target("CollectorTunables", []),
        target(
            "LogStore",
            ["DeviceTunables", "TelemetryBasics", "WireModel", "Encryption", "Gzip", "CFileCopy", crypto, logging]),
        target("Encryption", ["TelemetryBasics", "WireModel", crypto, cryptoExtras, logging]),
        target("SampleModules", ["TelemetryBasics", "WireModel", logging]),
        target(
            "RecordQueue",
            ["DeviceTunables", "TelemetryBasics", "WireModel", "SQLite", "Encryption", swiftProtobuf, logging]),
        target("RecordStore", ["TelemetryBasics", "WireModel", crypto]),
        target("WipeCertificates", ["TelemetryBasics", "WireModel", crypto]),
        target("CollectorAPI", ["WireModel", "JSON"]),
        target(
            "Registry",
            [
                "CollectorTunables", "CollectorAPI", "TelemetryBasics", "WireModel", "WipeCertificates", "SQLite",
                "RecordStore", crypto, logging,
            ]),
        target(
            "SQLiteRecordStore",
            [
                "CollectorTunables", "TelemetryBasics", "WireModel", "SQLite", "Zstd", "RecordBlocks", "RecordStore",
                "Registry", logging,
            ]),
        .systemLibrary(name: "CLibPQ"),
        target("JSON", []),
        target("OTLP", ["TelemetryBasics", swiftProtobuf]),
        target("RecordViews", ["TelemetryBasics", "WireModel", "OTLP", "JSON", swiftProtobuf]),
        target("PostgreSQL", ["CollectorTunables", "TelemetryBasics", "CLibPQ", logging]),
        target(
            "HTTPConnection",
            ["TelemetryBasics", "WireModel", asyncHTTPClient, nioCore, nioPosix, nioHTTP1, nioSSL]),
        target(
            "ClickHouse",
            [
                "CollectorTunables", "TelemetryBasics", "WireModel", "Gzip", "HTTPConnection", asyncHTTPClient, nioCore,
                nioHTTP1, nioPosix, logging,
            ]),
        target(
            "ClusterStore",
            [
                "CollectorTunables", "TelemetryBasics", "WireModel", "JSON", "MetricCatalog", "RecordViews",
                "RecordStore",
                "PostgreSQL", "ClickHouse", logging,
            ]),
        .executableTarget(
            name: "benchmarks",
            dependencies: [
                "CSQLite", "SQLite", "Gzip", "WireModel", "MetricCatalog", "RecordQueue", "SampleModules",
                "RecordStore", "SQLiteRecordStore", "ClickHouse", "PostgreSQL", "ClusterStore",
                "LogStore", "Encryption", "OTLP",
                argumentParser,
                logging,
            ],
            swiftSettings: settings),
    ]
)
