import ArgumentParser
import CommandKit
import Foundation
import WireModel

/// The flags of `serve` and `validate`.
enum ServerFlags: FlagSet {
    static let flags = Settings.declarations
}

/// The data directory, for commands that work on it directly.
enum DataFlags: FlagSet {
    static let flags = Settings.declarations.filter { $0.name == "data" }
}

/// The data directory and the configuration file, for commands that need the settings of `serve`.
enum DirectoryFlags: FlagSet {
    static let flags = Settings.declarations.filter { ["data", "config"].contains($0.name) }
}

/// What an enrollment file is made from: the data directory, and the certificate that devices see.
enum EnrollmentFlags: FlagSet {
    static let flags = Settings.declarations.filter { ["data", "config", "tls-certificate"].contains($0.name) }
}

typealias ServerOptions = SettingFlags<ServerFlags>
typealias DataOptions = SettingFlags<DataFlags>

extension ServerOptions {
    func settings() throws(CommandError) -> Settings { try Settings(SettingLayers(flags: given)) }
}

extension DataOptions {
    func directory() throws(CommandError) -> String {
        let layers = SettingLayers<Settings>(flags: given, environment: ProcessInfo.processInfo.environment)
        try layers.require(\.data)
        return try layers[\.data]?.text() ?? ""
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
