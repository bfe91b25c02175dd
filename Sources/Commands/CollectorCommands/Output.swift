import CollectorStore
import Foundation
import WireModel

/// Standard output of every command: what cannot be written is an error, so that a full disk behind a redirection never
/// looks like success.
enum Output {
    /// - Throws: `CommandError` where not all of it was written.
    static func write(_ text: String) throws(CommandError) {
        do { try FileHandle.standardOutput.write(contentsOf: Data(text.utf8)) } catch {
            let reason = ((error as NSError).userInfo[NSUnderlyingErrorKey] as? any Error) ?? error
            throw CommandError(.failed, "The output cannot be written: \(reason.localizedDescription).")
        }
    }

    /// Nothing of it steers a terminal: what devices say of themselves is among it.
    static func line(_ text: String) throws(CommandError) {
        try write(text.escapingControlCharacters(keeping: "\n\t") + "\n")
    }

    /// One JSON document, keys sorted.
    static func json(_ value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        try write(String(decoding: try encoder.encode(value).escapingHiddenCharactersInJSON, as: UTF8.self) + "\n")
    }

    /// Rows with their columns under one another; a column that holds only numbers is aligned right. Nothing in a cell
    /// steers a terminal or makes another row.
    static func table(_ rows: [[String]]) throws(CommandError) {
        guard let header = rows.first else { return }
        let rows = rows.map { $0.map(\.escapingControlCharacters) }
        let columns = header.indices.map { column -> (width: Int, numeric: Bool) in
            let cells = rows.map { $0[column] }
            return (cells.map(\.count).max() ?? 0, rows.count > 1 && cells.dropFirst().allSatisfy { UInt64($0) != nil })
        }
        var text = ""
        for row in rows {
            var line = ""
            for (cell, column) in zip(row, columns) {
                let padding = String(repeating: " ", count: column.width - cell.count)
                line += (column.numeric ? padding + cell : cell + padding) + "  "
            }
            while line.last == " " { line.removeLast() }
            text += line + "\n"
        }
        try write(text)
    }
}

extension RegistryReader {
    /// - Throws: `.usage` for an organization or a device that is not there: nothing would be found, and a misspelt
    ///   name look like success.
    func require(organization: String?, device: DeviceID? = nil) throws {
        if let organization, !(try organizations().contains { $0.name == organization }) {
            throw CommandError(
                .usage, "There is no organization \"\(organization)\"; `ws1collector organization list` shows them.")
        }
        if let device, !(try hasDevice(device)) {
            throw CommandError(.usage, "There is no device \(device); `ws1collector balance` lists them.")
        }
    }
}
