import CollectorAPI
import CommandKit
import WireModel

extension ChunkView {
    /// The times of all its lines; `nil` if no line is well-formed.
    var times: ClosedRange<Int64>? {
        guard let first = Self.time(firstTime), let last = Self.time(lastTime), first <= last else { return nil }
        return first...last
    }

    var numbers: ClosedRange<UInt64>? {
        guard let firstLine, let lastLine, firstLine <= lastLine else { return nil }
        return firstLine...lastLine
    }

    private static func time(_ text: String?) -> Int64? {
        guard let text, case .at(let time)? = TimeArgument(argument: text) else { return nil }
        return time
    }
}

/// Chunks at a collector that are read together, because they may hold the same lines. If nothing was sent twice, this
/// is one chunk. Sections share no line, so a fetch can begin at any of them.
struct RemoteSection: Codable, Equatable, Sendable {
    /// Length and digest of the text. They are known if the section is one chunk and all its lines match the filter.
    struct Proof: Codable, Equatable, Sendable {
        var bytes: Int
        var sha256: String
    }

    var ids: [String]
    var device: String
    var application: String
    var type: LogType
    var first: UInt64
    var last: UInt64
    var proof: Proof?

    /// Sorted by application, device and type, then in the order of lines at the collector: by log and number.
    ///
    /// A chunk with lines of more than one type, which our devices do not send, counts as of type application.
    static func sections(of chunks: [ChunkView], _ filter: LogFilter) -> [RemoteSection] {
        struct Place {
            var application: String
            var type: LogType
            var epoch: LogEpochID
            var numbers: ClosedRange<UInt64>
            var chunk: ChunkView

            /// The log that its lines belong to.
            var log: (String, String, Int, UInt64, UInt64) {
                (application, chunk.device, LogType.allCases.firstIndex(of: type) ?? 0, epoch.high, epoch.low)
            }

            static func isBefore(_ left: Place, _ right: Place) -> Bool {
                guard left.log == right.log else { return left.log < right.log }
                return (left.numbers.lowerBound, left.numbers.upperBound) < (
                    right.numbers.lowerBound, right.numbers.upperBound
                )
            }
        }
        let places = chunks.compactMap { chunk -> Place? in
            guard let numbers = chunk.numbers, let epoch = LogEpochID(chunk.logEpoch) else { return nil }
            return Place(
                application: chunk.application ?? "", type: chunk.type ?? .application, epoch: epoch, numbers: numbers,
                chunk: chunk)
        }.sorted(by: Place.isBefore)
        var sections: [RemoteSection] = []
        var former: Place?
        for place in places {
            if let last = sections.indices.last, let former, former.log == place.log,
                place.numbers.lowerBound <= sections[last].last
            {
                sections[last].ids.append(place.chunk.id)
                sections[last].last = max(sections[last].last, place.numbers.upperBound)
                sections[last].proof = nil
            } else {
                sections.append(
                    RemoteSection(
                        ids: [place.chunk.id], device: place.chunk.device, application: place.application,
                        type: place.type,
                        first: place.numbers.lowerBound,
                        last: place.numbers.upperBound, proof: proof(place.chunk, filter)))
            }
            former = place
        }
        return sections
    }

    private static func proof(_ chunk: ChunkView, _ filter: LogFilter) -> Proof? {
        guard let sha256 = chunk.sha256, let times = chunk.times, chunk.rawBytes <= LogLimits.chunkBytes,
            chunk.otherLines ?? 0 == 0,
            filter.matchesAll(times: times, levelCounts: chunk.levels.list)
        else { return nil }
        return Proof(bytes: chunk.rawBytes, sha256: sha256)
    }
}
