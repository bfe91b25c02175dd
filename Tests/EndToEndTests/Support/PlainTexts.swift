import Foundation
import Glibc

/// Searches a data directory for what must not be found in it.
enum PlainTexts {
    /// Names of the files that contain a text, as it is or in base64.
    static func files(in directory: String, with text: String) throws -> [String] {
        try files(in: directory, with: Data(text.utf8))
    }

    /// Names of the files that contain these bytes: as they are, in base64, or in hexadecimal.
    static func files(in directory: String, with bytes: Data) throws -> [String] {
        let forms = [bytes, hexadecimal(bytes)] + (0..<3).map { base64($0, bytes) }
        return try FileManager.default.subpathsOfDirectory(atPath: directory).filter { name in
            // Neither a directory nor the control socket can be read.
            guard let content = try? Data(contentsOf: URL(fileURLWithPath: "\(directory)/\(name)")) else {
                return false
            }
            return forms.contains { Self.contains(content, $0) }
        }
    }

    /// `Data.range(of:)` takes a minute for the allocated WAL of a queue in a debug build.
    private static func contains(_ content: Data, _ form: Data) -> Bool {
        content.withUnsafeBytes { content in
            form.withUnsafeBytes { form in
                guard let wanted = form.baseAddress, var place = content.baseAddress else { return false }
                let end = place + content.count
                while end - place >= form.count,
                    let found = memchr(place, Int32(form[0]), end - place - form.count + 1)
                {
                    if memcmp(found, wanted, form.count) == 0 { return true }
                    place = UnsafeRawPointer(found) + 1
                }
                return false
            }
        }
    }

    /// The part of the text in base64 that does not depend on what surrounds the bytes.
    /// - Parameter offset: how many bytes of a group of three come before them.
    private static func base64(_ offset: Int, _ bytes: Data) -> Data {
        let bytes = Data(repeating: 0, count: offset) + bytes
        return Data(
            bytes.base64EncodedString().prefix(bytes.count / 3 * 4).dropFirst(offset == 0 ? 0 : offset + 1).utf8)
    }

    private static func hexadecimal(_ bytes: Data) -> Data {
        Data(bytes.map { String(format: "%02x", $0) }.joined().utf8)
    }
}
