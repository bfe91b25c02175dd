import CommandKit
import FoundationEssentials
import JSON
import TelemetryBasics
import Yams

/// A document that a person wrote, in YAML or JSON. JSON is read as the collector reads it.
enum DocumentFile {
    private static let maximumBytes = 4 << 20

    /// - Parameter path: of the file, or `-` for standard input. A file that ends in `.json` is JSON.
    static func read(_ path: String) throws(CommandError) -> JSONValue {
        let source = path == "-" ? "/dev/stdin" : path
        let content: [UInt8]?
        do throws(FileError) {
            content = try Files<FileError>.read(source, maximumBytes: maximumBytes + 1)
        } catch { throw CommandError(.usage, "\(error)", cause: error) }
        guard let content else { throw CommandError(.usage, "there is no file \(path)") }
        guard content.count <= maximumBytes else {
            throw CommandError(.usage, "\(path) has more than \(maximumBytes) bytes")
        }
        let text = String(decoding: PlainText.normalized(content), as: UTF8.self)
        return try value(text, isJSON: path.hasSuffix(".json"), path: path)
    }

    static func value(_ text: String, isJSON: Bool, path: String) throws(CommandError) -> JSONValue {
        if isJSON {
            do throws(JSONParser.Fault) { return try JSONValue(parsing: Data(text.utf8), limits: .request) } catch {
                let line = text.utf8.prefix(error.place).count { $0 == UInt8(ascii: "\n") } + 1
                let what = error.repeatedName.map { "`\($0)` is given twice" } ?? "this is no JSON"
                throw CommandError(.usage, "\(path): \(what), in line \(line)", cause: error)
            }
        }
        let root: Node?
        do { root = try Yams.compose(yaml: text) } catch {
            let words = "\(error)".split(separator: "\n").prefix(2).joined(separator: " ")
            throw CommandError(.usage, "\(path) is not YAML: \(words)")
        }
        guard let root else { return .null }
        return try value(root, path)
    }

    private static func value(_ node: Node, _ path: String) throws(CommandError) -> JSONValue {
        func mistake(_ node: Node, _ text: String) -> CommandError {
            CommandError(.usage, "\(path): \(text)" + (node.mark.map { ", in line \($0.line)" } ?? ""))
        }
        switch node {
        case .mapping(let mapping):
            var members: [String: JSONValue] = [:]
            for (key, below) in mapping {
                guard let name = key.scalar?.string else { throw mistake(key, "a name must be a text") }
                guard members.updateValue(try value(below, path), forKey: name) == nil else {
                    throw mistake(key, "`\(name)` is given twice")
                }
            }
            return .object(members)
        case .sequence(let sequence):
            var items: [JSONValue] = []
            for item in sequence { items.append(try value(item, path)) }
            return .array(items)
        case .scalar(let scalar):
            if node.tag == Tag(.null) { return .null }
            if node.tag == Tag(.bool) {
                // YAML 1.1 takes `no` and `on` for these, too, which surprises whoever meant a word.
                guard let value = Bool(scalar.string.lowercased()) else {
                    throw mistake(node, "`\(scalar.string)` is a word or a switch: quote it, or write true or false")
                }
                return .boolean(value)
            }
            if node.tag == Tag(.int) {
                guard let value = node.int else { throw mistake(node, "\(scalar.string) is too large a number") }
                return .integer(Int64(value))
            }
            if node.tag == Tag(.float) {
                guard let value = node.float, value.isFinite else {
                    throw mistake(node, "JSON has no \(scalar.string)")
                }
                return .real(value)
            }
            return .text(scalar.string)
        default: throw mistake(node, "aliases are not understood")
        }
    }
}
