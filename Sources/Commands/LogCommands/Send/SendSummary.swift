import ControlSocket

/// What became of several uploads together, in words. Pure.
struct SendSummary {
    private let uploads: [LogUploadReport]

    init(_ uploads: [LogUploadReport]) { self.uploads = uploads }

    var chunks: Int { uploads.reduce(0) { $0 + $1.chunks } }
    var sent: Int { uploads.reduce(0) { $0 + $1.sent } }
    private var gone: Int { uploads.reduce(0) { $0 + $1.gone } }
    private var bytes: Int { Int(clamping: uploads.reduce(UInt64(0)) { $0 + $1.bytes }) }

    /// Why nothing goes at the moment; `nil`: it goes.
    var waitsFor: String? { uploads.first { $0.state == .underWay && !$0.detail.isEmpty }?.detail }

    var hasFailed: Bool { failed != nil }

    private var failed: LogUploadReport? { uploads.first { $0.state == .failed || $0.state == .cancelled } }

    var text: String {
        guard !uploads.isEmpty else { return "no line matches: there is nothing to send" }
        let what = "\(CountText.of(chunks, "chunk")), \(ByteText.of(bytes)) of text"
        if let failed {
            return "\(what): not sent whole: \(failed.detail.isEmpty ? failed.state.rawValue : failed.detail)"
        }
        guard uploads.allSatisfy({ $0.state == .done }) else {
            return "\(what): on the way" + (waitsFor.map { "; waiting: \($0)" } ?? "")
        }
        return "\(what): the collector has it"
            + (gone == 0 ? "" : ", but for \(gone) that fell to a limit of the store before they were sent")
    }
}
