import Console
import Crypto
import Foundation
import Synchronization

/// Forms that were sent a moment ago. A form that comes again, by a double click or a browser that tries again, is not
/// performed again: it gets the answer of the first. Each page has a form token of its own, so the same fields are the
/// same form.
final class FormRepeats: Sendable {
    private struct Entry {
        var task: Task<Console.Response, any Error>
        /// The time of its end on the uptime clock, in microseconds; `nil` while it is performed.
        var ended: Int64?
    }

    /// A double click lasts a second. Whoever goes back and sends a form again later means it.
    private static let microseconds: Int64 = 10_000_000
    /// The oldest give way.
    private static let maximum = 256

    private let entries = Mutex<[(key: String, entry: Entry)]>([])
    private let uptime: @Sendable () -> Int64

    init(uptime: @escaping @Sendable () -> Int64 = { Uptime.microseconds() }) { self.uptime = uptime }

    /// The key of a form: the same path and fields, with the page's form token, give the same.
    static func key(_ path: String, _ form: FormFields) -> String {
        SHA256.hash(data: Data("\(path)\n\(form.encoded)".utf8)).map {
            ($0 < 16 ? "0" : "") + String($0, radix: 16)
        }.joined()
    }

    /// Performs a form, or waits for the one that is performed already. An answer that refuses is not kept.
    func answer(
        _ key: String, _ perform: @escaping @Sendable () async throws -> Console.Response
    ) async throws -> Console.Response {
        // A second click makes the browser give up the first request. What that one began goes on.
        let task = entries.withLock { entries -> Task<Console.Response, any Error> in
            let now = uptime()
            entries.removeAll { ($0.entry.ended ?? now) < now - Self.microseconds }
            if let known = entries.first(where: { $0.key == key }) { return known.entry.task }
            if entries.count >= Self.maximum { entries.removeFirst() }
            let task = Task { try await perform() }
            entries.append((key, Entry(task: task)))
            return task
        }
        let outcome = await task.result
        let isKept = (try? outcome.get()).map { $0.status < 400 && $0.rest == nil } ?? false
        entries.withLock { entries in
            guard let place = entries.firstIndex(where: { $0.key == key }) else { return }
            if !isKept {
                entries.remove(at: place)
            } else if entries[place].entry.ended == nil {
                entries[place].entry.ended = uptime()
            }
        }
        return try outcome.get()
    }
}
