/// What a program's `validate --json` prints.
package struct ValidationOutcome: Encodable {
    /// Whether a start would take the settings.
    package var isValid: Bool
    /// What is wrong, one text for each mistake, with file and line where there is one.
    package var mistakes: [String] = []
    /// What is valid but unsafe, and what else a person should know.
    package var remarks: [String] = []
    /// The settings in force by name, as text. Secrets are not among them.
    package var settings: [String: String] = [:]

    package init(remarks: [String], settings: [String: String]) {
        isValid = true
        self.remarks = remarks
        self.settings = settings
    }

    package init(_ error: CommandError) {
        isValid = false
        mistakes = error.message.split(separator: "\n").map(String.init)
    }
}
