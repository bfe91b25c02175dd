import CommandKit
import DataSampler
import FoundationEssentials
import LogStore
import WireModel

/// A line that a program in any language sends to the control socket: a JSON object with a record of that program.
///
/// `Documentation/agent.md` describes the protocol for those programs. Exactly one of the members `event`, `sample` and
/// `log` says what the line is. An unknown member is an error: a misspelled one must not pass for a missing one.
struct ControlLine: Decodable {
    enum Content {
        case event(AnalyticsEvent)
        case sample(module: String, [SampleMeasurement])
        case log(LogEntry)
    }

    /// The longest line in bytes, without its newline: room for the largest record, written in JSON.
    static let maximumBytes = 512 * 1024

    let content: Content
    /// Bundle id of the program; `nil`: the agent's.
    let application: String?

    private struct Key: CodingKey {
        let stringValue: String
        let intValue: Int? = nil
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
        static func named(_ name: String) -> Key { Key(stringValue: name) }
    }

    private static let members: [String: Set<String>] = [
        "event": ["value", "attributes"], "sample": ["measurements"], "log": ["level", "category", "metadata"],
    ]

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        let names = Set(container.allKeys.map(\.stringValue))
        let kinds = names.filter { Self.members[$0] != nil }
        guard kinds.count == 1, let kind = kinds.first, let members = Self.members[kind] else {
            throw LineError("the line must have exactly one of the members event, sample and log")
        }
        if let unknown = names.subtracting(members).subtracting([kind, "application"]).min() {
            throw LineError(
                """
                the member '\(unknown.prefix(64))' is not one of \(kind): \(members.sorted().joined(separator: ", ")), \
                application
                """
            )
        }
        application = try container.decodeIfPresent(String.self, forKey: .named("application"))
        let text = try container.decode(String.self, forKey: .named(kind))
        switch kind {
        case "event":
            let attributes =
                try container.decodeIfPresent([String: LineValue].self, forKey: .named("attributes")) ?? [:]
            content = .event(
                try AnalyticsEvent(
                    name: text, value: try container.decode(LineValue.self, forKey: .named("value")).value,
                    attributes: attributes.mapValues(\.value)))
        case "sample":
            content = .sample(
                module: text,
                try container.decode([LineMeasurement].self, forKey: .named("measurements")).map(\.measurement))
        default:
            let name = try container.decodeIfPresent(String.self, forKey: .named("level")) ?? LogLevel.information.name
            guard let level = LogLevel(name: name) else {
                throw LineError("the level must be error, warning, information or verbose")
            }
            content = .log(
                LogEntry(
                    level, text,
                    category: try container.decodeIfPresent(String.self, forKey: .named("category")) ?? "app",
                    metadata: try container.decodeIfPresent([String: String].self, forKey: .named("metadata")) ?? [:]))
        }
    }
}

/// The fault of a line, for its program.
struct LineError: Error {
    let message: String
    init(_ message: String) { self.message = message }
}

/// Text, a number, or true or false. Times are text.
private struct LineValue: Decodable {
    let value: EventValue

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        value =
            if let flag = try? container.decode(Bool.self) {
                .boolean(flag)
            } else if let number = try? container.decode(Int64.self) {
                .integer(number)
            } else if let number = try? container.decode(Double.self) {
                .double(number)
            } else {
                .string(try container.decode(String.self))
            }
    }
}

private struct LineMeasurement: Decodable {
    var name: String
    var value: LineValue
    var unit: String?
    var attributes: [String: String]?

    var measurement: SampleMeasurement {
        SampleMeasurement(name: name, unit: unit ?? "", attributes: attributes ?? [:], value: value.value)
    }
}

/// The answer to a program about its line.
struct ControlLineAnswer: Encodable {
    /// The record is on synced disk, or the log line with the kernel.
    var ok: Bool
    /// The number of the event or sample in its stream.
    var number: UInt64?
    /// Whether the level in force filtered the log line out.
    var filtered: Bool?
    /// The code of the error; stable.
    var code: String?
    var message: String?
    /// Whether the same line may be accepted later.
    var retry: Bool?

    static func failed(_ code: String, _ message: String, retry: Bool = false) -> ControlLineAnswer {
        ControlLineAnswer(ok: false, code: code, message: message, retry: retry)
    }

    /// The answer as one line.
    var data: Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // It consists of texts, a number and flags, which always encode.
        return ((try? encoder.encode(self)) ?? Data()) + [UInt8(ascii: "\n")]
    }
}

extension AgentControl {
    /// Records what a program's line says.
    func answer(line: Data) async -> ControlLineAnswer {
        do {
            let line = try JSONDecoder().decode(ControlLine.self, from: line)
            switch line.content {
            case .event(let event):
                let number = try await sampler.record(event, of: line.application, durability: .durable)
                return ControlLineAnswer(ok: true, number: number)
            case .sample(let module, let measurements):
                let number = try await sampler.record(
                    module: module, measurements, of: line.application, durability: .durable)
                return ControlLineAnswer(ok: true, number: number)
            case .log(let entry):
                let delivery = try await sampler.deliverLogs([entry], of: line.application ?? "")
                guard delivery.lost == 0 else {
                    return .failed("storage", delivery.reason ?? "it could not be written", retry: delivery.isTransient)
                }
                return ControlLineAnswer(ok: true, filtered: delivery.filtered > 0 ? true : nil)
            }
        } catch let error as LineError {
            return .failed("malformed-line", error.message)
        } catch let error as DataSamplerError {
            return .failed("\(error.code)", error.message, retry: CommandError(error).exitCode == 75)
        } catch let error as DecodingError {
            return .failed("malformed-line", "the line is not such a JSON object: \(Self.described(error))")
        } catch {
            return .failed("malformed-line", "the line is not JSON")
        }
    }

    private static func described(_ error: DecodingError) -> String {
        switch error {
        case .keyNotFound(let key, _): "the member '\(key.stringValue)' is missing"
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            "'\(context.codingPath.map(\.stringValue).joined(separator: "."))' has another type"
        case .dataCorrupted: "it is not valid JSON"
        @unknown default: "it cannot be read"
        }
    }
}
