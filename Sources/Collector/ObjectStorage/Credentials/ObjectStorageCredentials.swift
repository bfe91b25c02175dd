import FoundationEssentials

/// An access key with its secret. Descriptions show only the key's id.
package struct ObjectStorageCredentials: Equatable, Sendable {
    package let accessKeyID: String
    let secretAccessKey: String
    /// The session token of temporary credentials; `nil` for lasting ones.
    let sessionToken: String?

    /// - Throws: `.configuration` if a part is empty or has characters that no header can carry.
    package init(
        accessKeyID: String, secretAccessKey: String, sessionToken: String? = nil
    ) throws(ObjectStorageError) {
        for (name, value) in [
            ("access key id", accessKeyID), ("secret access key", secretAccessKey), ("session token", sessionToken),
        ] {
            guard let value else { continue }
            guard !value.isEmpty, value.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
                throw ObjectStorageError(
                    .configuration, "the \(name) of the object storage is empty or has blanks or control characters.")
            }
        }
        self.accessKeyID = accessKeyID
        self.secretAccessKey = secretAccessKey
        self.sessionToken = sessionToken
    }
}

extension ObjectStorageCredentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "access key \(accessKeyID)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: ["accessKeyID": accessKeyID]) }
}
