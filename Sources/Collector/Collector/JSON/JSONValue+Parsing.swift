import Foundation

extension JSONValue {
    /// The body of a request, or what a program of ours has written, as JSON.
    ///
    /// `JSONDecoder` cannot be asked what comes next. A type that takes any JSON has to try one after the other, and each wrong guess is
    /// an error thrown at every level of nesting: a kilobyte then takes seconds.
    /// - Throws: `JSONParser.Fault` for what is no JSON, or over a limit.
    init(parsing bytes: Data, limits: JSONParser.Limits) throws(JSONParser.Fault) {
        let outcome: Result<JSONValue, JSONParser.Fault> = bytes.withUnsafeBytes { bytes in
            var parser = JSONParser(bytes, limits: limits)
            do throws(JSONParser.Fault) { return .success(try parser.document()) } catch { return .failure(error) }
        }
        self = try outcome.get()
    }
}
