import ControlSocket
import FoundationEssentials
import WireModel

/// The agent that runs in a data directory, asked through its control socket. Blocks.
struct RunningAgent {
    let directory: String

    /// Has it upload what a request asks for.
    /// - Returns: the uploads; none where no line was found.
    func send(_ logs: WireRequestLogs, whenAllowed: Bool) throws(LogCommandError) -> [LogUploadReport] {
        var request = WireControlRequest()
        request.sendLogs.request = logs
        request.sendLogs.whenAllowed = whenAllowed
        return try ask(
            request, noAgent: "no agent runs in \(directory): start it, or check --data. ws1log fetch copies the lines without one")
    }

    /// How uploads do now, in their order. One that ended so long ago that the agent no longer tells of it has failed.
    func uploads(_ former: [LogUploadReport]) throws(LogCommandError) -> [LogUploadReport] {
        var request = WireControlRequest()
        request.logUploads.ids = former.compactMap { UploadID($0.id)?.data }
        let now = try ask(request, noAgent: "the agent in \(directory) has ended: the uploads go on when it runs again")
        return former.map { upload in
            if let known = now.first(where: { $0.id == upload.id }) { return known }
            var upload = upload
            if upload.state == .underWay { (upload.state, upload.detail) = (.failed, "the agent knows nothing of it any more") }
            return upload
        }
    }

    private func ask(_ request: WireControlRequest, noAgent: String) throws(LogCommandError) -> [LogUploadReport] {
        let answer: WireControlAnswer
        do throws(ControlError) {
            guard let given = try ControlClient(directory: directory).askBlocking(request) else {
                throw ControlError(.tryAgain, noAgent)
            }
            answer = try given.succeeding()
        } catch {
            throw LogCommandError(error)
        }
        do { return try JSONDecoder().decode([LogUploadReport].self, from: answer.json) } catch {
            throw LogCommandError(.failed, "the agent's answer cannot be read: it is of another version", cause: error)
        }
    }
}
