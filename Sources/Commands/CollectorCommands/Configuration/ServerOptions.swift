import ArgumentParser
import CommandKit
import Foundation
import WireModel

/// The flags that `serve` and `validate` share.
enum ServerFlags: FlagSet {
    static let flags = Settings.declarations
}

/// The data directory alone, for the commands that work on it directly.
enum DataFlags: FlagSet {
    static let flags = Settings.declarations.filter { $0.name == "data" }
}

/// For commands that work on the directory as `serve` is set up.
enum DirectoryFlags: FlagSet {
    static let flags = Settings.declarations.filter { ["data", "config"].contains($0.name) }
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

/// Which streams a command is about.
struct StreamOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Records of this stream only: status, event or sample; may be repeated.", valueName: "stream"))
    var stream: [String] = []

    /// - Throws: where streams are named and a kind that one asks for is in none of them: nothing would be found, which
    ///   is not what was meant.
    func check(_ kind: String, isIn stream: StreamName, _ flag: String) throws(CommandError) {
        guard try !streams().contains(stream) else { return }
        throw CommandError(
            .usage, "\(flag) \(kind) is of the stream \(stream), and --stream names others. Leave --stream out.")
    }

    /// All of them where none is named.
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
