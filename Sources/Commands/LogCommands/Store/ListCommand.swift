import ArgumentParser
import CollectorAPI
import CollectorClient
import CommandKit
import LogStore
import TelemetryBasics
import WireModel

struct ListCommand: PlacedCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Lists the segments of the store, with their sizes and times.",
        discussion: "At a collector it lists the chunks that the device sent.")

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup var view: ViewOptions
    @OptionGroup var application: ApplicationOptions
    @OptionGroup(title: "At a collector") var chunkOptions: ChunkOptions
    @OptionGroup var store: StoreOptions
    @OptionGroup(title: "At a collector") var collector: CollectorOptions

    /// A segment as printed with --json.
    struct Segment: Codable, Equatable {
        var name: String
        var kind: String
        /// Bundle id of the program that wrote the lines. Absent: the application that the device enrolled with.
        var application: String?
        var isSealed: Bool
        var lines: Int
        var rawBytes: Int
        var storedBytes: Int
        var firstLine: UInt64
        var lastLine: UInt64
        var earliest: String
        var latest: String
        /// Lines per level, most severe first.
        var levels: [UInt64]
    }

    func runLocally() throws {
        let snapshot = try store.snapshot(Set(SegmentName.Kind.allCases), application)
        let segments = snapshot.segments.map(Self.segment)
        if json {
            try Output.json(segments)
        } else {
            let style = view.style()
            var table = TextTable(
                ["segment", "state", "lines", "text", "stored", "from", "to", "E", "W", "I", "V"],
                right: [2, 3, 4, 7, 8, 9, 10])
            for (segment, shown) in zip(snapshot.segments, segments) {
                let times = segment.index.whole.times
                table.add(
                    [
                        shown.name, shown.isSealed ? "sealed" : "active", "\(shown.lines)", ByteText.of(shown.rawBytes),
                        ByteText.of(shown.storedBytes), Self.time(times.lowerBound, style),
                        Self.time(times.upperBound, style),
                    ] + shown.levels.map(String.init))
            }
            try Output.write(table.text.utf8)
        }
        try Shortfall(snapshot.problems).throwIfAny()
    }

    private static func segment(_ segment: StoreSnapshot.Segment) -> Segment {
        let whole = segment.index.whole
        return Segment(
            name: segment.name.file(segment.isSealed ? .sealed : .text), kind: segment.name.kind.rawValue,
            application: segment.name.application.isEmpty ? nil : segment.name.application, isSealed: segment.isSealed,
            lines: whole.lines, rawBytes: whole.rawBytes, storedBytes: whole.storedBytes, firstLine: whole.first.value,
            lastLine: segment.index.last.value, earliest: Timestamp.text(whole.times.lowerBound),
            latest: Timestamp.text(whole.times.upperBound),
            levels: whole.levelCounts)
    }

    static func time(_ time: Int64, _ style: LineStyle) -> String {
        style.isLocalTime ? LineStyle.localTime(time) : Timestamp.text(time)
    }
}

extension ListCommand {
    func runRemotely() async throws {
        let chunks = try await ask { client, scope in try await client.chunks(LogQuery(scope)) }
        if json {
            try Output.json(chunks)
        } else {
            let style = view.style()
            var table = TextTable(
                [
                    "chunk", "device", "application", "upload", "type", "lines", "text", "stored", "from", "to", "E",
                    "W",
                    "I", "V",
                ],
                right: [0, 5, 6, 7, 10, 11, 12, 13])
            for chunk in chunks {
                let times = chunk.times
                table.add(
                    [
                        chunk.id, chunk.device, chunk.application ?? "-", "\(chunk.upload)/\(chunk.number)",
                        chunk.type?.rawValue ?? "-", "\(chunk.lines)",
                        ByteText.of(chunk.rawBytes), ByteText.of(chunk.storedBytes),
                        times.map { Self.time($0.lowerBound, style) } ?? "-",
                        times.map { Self.time($0.upperBound, style) } ?? "-",
                    ] + chunk.levels.list.map(String.init))
            }
            try Output.write(table.text.utf8)
        }
    }
}
