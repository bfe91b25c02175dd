import ArgumentParser
import WireModel

/// Which streams a command is about.
struct StreamOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Records of this stream only: status, event or sample; may be repeated.", valueName: "stream"))
    var stream: [String] = []

    /// - Throws: where streams are named and a kind that one asks for is in none of them: nothing would be found, which is not what was meant.
    func check(_ kind: String, isIn stream: StreamName, _ flag: String) throws(CommandError) {
        guard try !streams().contains(stream) else { return }
        throw CommandError(.usage, "\(flag) \(kind) is of the stream \(stream), and --stream names others. Leave --stream out.")
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
