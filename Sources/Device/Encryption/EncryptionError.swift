import TelemetryBasics

/// Why something could not be sealed or opened. Programs decide by `code`. The message never holds a key or data.
package struct EncryptionError {
    package enum Code: String, Sendable, CaseIterable {
        /// The passcode was not entered yet.
        case locked
        /// There is no device key at the place where it should be.
        case keyMissing = "key-missing"
        /// The device key is not the one that the keys are wrapped with.
        case wrongKey = "wrong-key"
        /// The file `keys` is sound, and this is not its passcode.
        case wrongPasscode = "wrong-passcode"
        /// Others could have read or replaced the key file.
        case exposed
        /// A file of keys is not what was written.
        case damaged
        /// A newer version wrote the file or the sealed bytes.
        case newerVersion = "newer-version"
        /// The bytes name a key that is not among the keys: it was destroyed, or it is another device's.
        case keyGone = "key-gone"
        /// The bytes are not what was sealed, or not for this place.
        case altered
        /// The bytes are no sealed form.
        case notSealed = "not-sealed"
        /// A wipe destroys the keys.
        case destroyed
        case diskFull = "disk-full"
        case io
        /// An argument is out of range.
        case invalid
    }

    package let code: Code
    package let message: String
    package let cause: (any Error)?

    package init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// Whether the same may succeed later without any data being lost: somebody must give the key, or make room.
    package var isTemporary: Bool {
        switch code {
        case .locked, .keyMissing, .wrongKey, .wrongPasscode, .exposed, .destroyed, .diskFull: true
        case .damaged, .newerVersion, .keyGone, .altered, .notSealed, .io, .invalid: false
        }
    }
}

extension EncryptionError: CodedError, FileFailure {
    package init(_ error: FileError) {
        self.init(error.isDiskFull ? .diskFull : .io, "\(error). Nothing was changed; try again.", cause: error)
    }
}
