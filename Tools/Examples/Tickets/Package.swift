// swift-tools-version: 6.2

import PackageDescription

// A program against the names that ws1 documents. An application of yours names the package by its URL, not by a path.
let package = Package(
    name: "Tickets",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "ws1-telemetry", path: "../../..")
    ],
    targets: [
        .executableTarget(
            name: "Tickets",
            dependencies: [
                .product(name: "AWSDK", package: "ws1-telemetry"),
                .product(name: "DataSampler", package: "ws1-telemetry"),
            ])
    ]
)
