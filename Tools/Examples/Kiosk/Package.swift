// swift-tools-version: 6.2

import PackageDescription

// The article "Embed the sampler" as a program. An application of yours names the package by its URL instead of a path.
let package = Package(
    name: "Kiosk",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "ws1-telemetry", path: "../../.."),
        .package(url: "https://github.com/apple/swift-metrics.git", from: "2.13.0"),
    ],
    targets: [
        .executableTarget(
            name: "Kiosk",
            dependencies: [
                .product(name: "DataSampler", package: "ws1-telemetry"),
                .product(name: "DataSamplerMetrics", package: "ws1-telemetry"),
                .product(name: "Metrics", package: "swift-metrics"),
            ])
    ]
)
