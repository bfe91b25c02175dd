/// Options of the form `key=value`, each key once.
enum KeyedValues {
    /// - Parameter option: as the message of an error names it.
    static func read(_ texts: [String], option: String) throws(AgentError) -> [String: String] {
        var values: [String: String] = [:]
        for text in texts {
            guard let separator = text.firstIndex(of: "="), separator > text.startIndex else {
                throw AgentError(.usage, "\(option) must be KEY=VALUE")
            }
            let key = String(text[..<separator])
            guard values.updateValue(String(text[text.index(after: separator)...]), forKey: key) == nil else {
                throw AgentError(.usage, "\(option) \(key) is given twice")
            }
        }
        return values
    }
}
