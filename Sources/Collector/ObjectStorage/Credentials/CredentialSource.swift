import FoundationEssentials
import TelemetryBasics

extension ObjectStorageCredentials {
    /// Where credentials come from.
    package enum Source: Equatable, Sendable {
        case given(ObjectStorageCredentials)
        /// `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and, for temporary ones, `AWS_SESSION_TOKEN`.
        case environment
        /// A file as the AWS tools write it, `~/.aws/credentials`. It is read again when the storage refuses what it
        /// held, so that credentials can be replaced without a restart.
        case file(path: String, profile: String = "default")

        /// - Throws: `.configuration`, with what is missing where.
        func load(environment: [String: String]) throws(ObjectStorageError) -> ObjectStorageCredentials {
            switch self {
            case .given(let credentials): return credentials
            case .environment:
                func variable(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
                func required(_ name: String) throws(ObjectStorageError) -> String {
                    guard let value = variable(name) else {
                        throw ObjectStorageError(
                            .configuration,
                            """
                            the environment has no \(name). Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a \
                            file of credentials.
                            """
                        )
                    }
                    return value
                }
                return try ObjectStorageCredentials(
                    accessKeyID: try required("AWS_ACCESS_KEY_ID"),
                    secretAccessKey: try required("AWS_SECRET_ACCESS_KEY"),
                    sessionToken: variable("AWS_SESSION_TOKEN"))
            case .file(let path, let profile):
                let bytes: [UInt8]?
                do throws(FileError) { bytes = try Files<FileError>.read(path, maximumBytes: 1 << 20) } catch {
                    throw ObjectStorageError(
                        .configuration, "the file of credentials cannot be read: \(error).", cause: error)
                }
                guard let bytes else {
                    throw ObjectStorageError(.configuration, "there is no file of credentials at \(path).")
                }
                let values = CredentialsFile.profile(
                    profile, in: String(decoding: PlainText.normalized(bytes), as: UTF8.self))
                guard let values else {
                    throw ObjectStorageError(
                        .configuration, "the file of credentials \(path) has no profile [\(profile)].")
                }
                guard let id = values["aws_access_key_id"], let secret = values["aws_secret_access_key"] else {
                    throw ObjectStorageError(
                        .configuration,
                        "the profile [\(profile)] in \(path) must have aws_access_key_id and aws_secret_access_key.")
                }
                return try ObjectStorageCredentials(
                    accessKeyID: id, secretAccessKey: secret, sessionToken: values["aws_session_token"])
            }
        }
    }
}

/// Reads the shared credentials file of the AWS tools: sections of `name = value` lines.
enum CredentialsFile {
    /// - Returns: the values by lower-case name; `nil` if there is no such section. Of a repeated name the last counts.
    static func profile(_ name: String, in text: String) -> [String: String]? {
        var found: [String: String]?
        var isInside = false
        for line in text.split(whereSeparator: \.isNewline) {
            let line = trimmed(line)
            if line.isEmpty || line.first == "#" || line.first == ";" { continue }
            if line.first == "[" {
                isInside = line.last == "]" && trimmed(line.dropFirst().dropLast()) == name
                if isInside, found == nil { found = [:] }
                continue
            }
            guard isInside, let equals = line.firstIndex(of: "=") else { continue }
            let value = trimmed(line[line.index(after: equals)...])
            if !value.isEmpty { found?[trimmed(line[..<equals]).lowercased()] = String(value) }
        }
        return found
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var rest = text
        while rest.first?.isWhitespace == true { rest.removeFirst() }
        while rest.last?.isWhitespace == true { rest.removeLast() }
        return rest
    }
}
