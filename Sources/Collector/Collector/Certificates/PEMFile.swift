import TelemetryBasics

/// A PEM file that a person hands over. It may have more in it than what is asked for: `openssl ecparam -genkey` writes
/// parameters before the key, and other tools write certificate and key into one file, or words between them.
enum PEMFile {
    /// The whole text.
    static func text(_ path: String) throws(FileError) -> String {
        String(decoding: try PlainText.read(path), as: UTF8.self)
    }

    /// The certificates alone, in their order; empty if there is none.
    static func certificates(_ path: String) throws(FileError) -> String {
        blocks("CERTIFICATE", in: try text(path)).joined()
    }

    /// The first private key alone; empty if there is none.
    static func privateKey(_ path: String) throws(FileError) -> String {
        blocks("PRIVATE KEY", in: try text(path)).first ?? ""
    }

    /// - Parameter kind: the end of the label. That of an EC PRIVATE KEY ends in PRIVATE KEY.
    private static func blocks(_ kind: String, in text: String) -> [String] {
        var blocks: [String] = []
        var block: String?
        for line in text.split(separator: "\n") {
            if line.hasPrefix("-----BEGIN ") { block = line.contains(" \(kind)-----") ? "" : nil }
            block?.append("\(line)\n")
            guard line.hasPrefix("-----END "), let whole = block else { continue }
            blocks.append(whole)
            block = nil
        }
        return blocks
    }
}
