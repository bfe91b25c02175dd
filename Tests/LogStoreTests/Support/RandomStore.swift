import DeviceTestKit
import LogStore
import TestKit
import WireModel

/// Stores of any shape: sealed and active segments of all kinds and sizes, torn ends, lines of the greatest length,
/// lines that are none.
struct RandomStore {
    let store: TemporaryStore
    var generator: SplitMix64

    init(seed: UInt64) throws {
        store = try TemporaryStore()
        generator = SplitMix64(seed: seed)
        var log = SampleLog(seed: seed)
        for ordinal in 1...UInt64.random(in: 1...9, using: &generator) {
            // Another process, whose lines lie beside those of the one before.
            if generator.chance(0.3) { log.time -= 5_000_000 }
            let kind: SegmentName.Kind =
                generator.chance(0.7) ? .application : SegmentName.Kind.allCases.randomElement(using: &generator)!
            let name = SegmentName(ordinal: ordinal, kind: kind)
            let size = [0, 40, 500, 30_000, 65_536, 70_000, 200_000].randomElement(using: &generator)!
            var text =
                size == 40
                ? log.line().text(LogNumber(segment: ordinal, position: 1)) : log.segment(ordinal, bytes: size)
            if generator.chance(0.2) { text += Array("no line of ours\n".utf8) }
            if generator.chance(0.2) {
                let number = LogNumber(segment: ordinal, position: UInt64(text.count { $0 == UInt8(ascii: "\n") }) + 1)
                text += SampleLog.Line.filling(LogLimits.lineBytes, time: log.time, level: .warning, number: number)
                    .text(number)
            }
            if generator.chance(0.6) {
                try store.seal(name, text)
            } else {
                try store.write(text + Array((generator.chance(0.5) ? "2026-11-21T" : "").utf8), name.file(.text))
            }
        }
    }

    mutating func filter() -> LogFilter {
        func time(_ chance: Double) -> Int64? {
            generator.chance(chance)
                ? SampleLog.start + Int64.random(in: -1_000_000...30_000_000, using: &generator) : nil
        }
        let categories: [[String]] = [[], [], ["app.network"], ["app.*"], ["sync", "-"], ["none"]]
        return LogFilter(
            level: generator.chance(0.4) ? .verbose : LogLevel.allCases.randomElement(using: &generator)!,
            since: time(0.4), until: time(0.4), categories: categories.randomElement(using: &generator)!,
            text: ["", "", "", "CACHE hit", "größe", "status 200", "attempt=7"].randomElement(using: &generator)!)
    }

    mutating func kinds() -> Set<SegmentName.Kind> {
        [[.application], [.crash], [.application, .crash], [.application, .crash, .ring]].randomElement(
            using: &generator)!
    }
}
