import HTTPTypes
import Hummingbird

extension HTTPField.Name {
    /// Record files that an answer passes over because they are damaged, separated by commas.
    static let missingFiles = Self("WS1-Missing-Files")!
}

extension Response {
    /// Says that the answer is not of all that devices have sent.
    func naming(missing files: [String]) -> Response {
        guard !files.isEmpty else { return self }
        var response = self
        response.headers[.missingFiles] = files.joined(separator: ", ")
        return response
    }
}
