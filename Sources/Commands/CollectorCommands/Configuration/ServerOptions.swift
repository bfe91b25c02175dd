import ArgumentParser
import CommandKit
import Foundation
import Registry
import WireModel

/// The flags of `serve` and `validate`.
enum ServerFlags: FlagSet {
    static let flags = Settings.declarations.filter { $0.places.contains(.flag) }
}

/// The data directory, and the configuration file of `serve`, which may name a cluster instead.
enum DataFlags: FlagSet {
    static let flags = Settings.declarations.filter { ["data", "config"].contains($0.name) }
}

/// The flags that an enrollment file is made from: the data directory, and the certificate that devices see.
enum EnrollmentFlags: FlagSet {
    static let flags = Settings.declarations.filter { ["data", "config", "tls-certificate"].contains($0.name) }
}

typealias ServerOptions = SettingFlags<ServerFlags>
typealias DataOptions = SettingFlags<DataFlags>

extension ServerOptions {
    func settings() throws(CommandError) -> Settings { try Settings(SettingLayers(flags: given)) }
}

extension SettingFlags {
    /// Warns about secrets among the arguments.
    var warnings: [String] {
        Flags.flags.filter { $0.isSecret && given[$0.name] != nil }.map { setting in
            """
            \(setting.flag) shows a secret to every user of this machine, in the list of processes: set \
            \(setting.variable), or write \(setting.name) into the configuration file that only the collector reads
            """
        }
    }

    /// The settings, without those checks that are for `serve` alone.
    func dataSettings() throws(CommandError) -> Settings {
        let layers = try SettingLayers<Settings>(flags: given)
        var settings = try layers.read()
        if settings.store == .cluster { try settings.cluster.check(layers) }
        return settings
    }

    /// The data directory, for what is not in a cluster.
    /// - Throws: `.usage` with the remedy, if the data is in a cluster.
    func directory(otherwise remedy: String) throws(CommandError) -> String {
        let settings = try dataSettings()
        guard settings.store == .directory else { throw CommandError(.usage, remedy) }
        return settings.data
    }

    /// Opens the data for one command, and closes it afterwards.
    func withData<Value>(_ work: (any CollectorData) async throws -> Value) async throws -> Value {
        try await dataSettings().withData(work)
    }
}

extension Settings {
    /// Opens the data for one command, and closes it afterwards.
    func withData<Value>(_ work: (any CollectorData) async throws -> Value) async throws -> Value {
        let data: any CollectorData
        switch store {
        case .directory: data = DirectoryData(directory: self.data)
        case .cluster: data = try ClusterData(self)
        }
        let result: Result<Value, any Error>
        do {
            try await data.requireUsable()
            result = .success(try await work(data))
        } catch { result = .failure(error) }
        await data.close()
        return try result.get()
    }

    func withMetadata<Value>(_ work: (MetadataService) async throws -> Value) async throws -> Value {
        try await withData { try await $0.withMetadata(work) }
    }
}

/// The streams that a command works on.
struct StreamOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Only records of this stream: status, event or sample; may be repeated.", valueName: "stream"))
    var stream: [String] = []

    /// - Throws: if the kind is in none of the named streams, because the result would always be empty.
    func check(_ kind: String, isIn stream: StreamName, _ flag: String) throws(CommandError) {
        guard try !streams().contains(stream) else { return }
        throw CommandError(
            .usage, "\(flag) \(kind) belongs to the stream \(stream), and --stream names others. Leave --stream out.")
    }

    /// The named streams, or all if none is named.
    func streams() throws(CommandError) -> Set<StreamName> {
        var streams: Set<StreamName> = []
        for name in stream {
            guard let known = StreamName(name: name) else {
                throw CommandError(.usage, "--stream is \(name); expected status, event or sample.")
            }
            streams.insert(known)
        }
        return streams.isEmpty ? Set(StreamName.allCases) : streams
    }
}
