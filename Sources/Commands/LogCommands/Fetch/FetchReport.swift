/// What a fetch of chunks says at its end.
struct FetchReport {
    var manifest: FetchManifest
    /// Files that an earlier attempt had written.
    var resumed: Int
    var folder: String
    var isCompressed: Bool

    func print(isJSON: Bool) throws(LogCommandError) {
        var output = StandardOutput()
        if isJSON { try output.json(manifest) } else { try output.line(text) }
        try output.flush()
    }

    private var text: String {
        let (bytes, raw) = manifest.chunks.reduce((0, 0)) { ($0.0 + $1.bytes, $0.1 + $1.rawBytes) }
        return "\(CountText.of(manifest.chunks.count, "chunk"))\(resumed == 0 ? "" : ", \(resumed) of them there already"), "
            + "\(ByteText.of(bytes))\(isCompressed ? " (\(ByteText.of(raw)) of text)" : "") in \(folder)"
    }
}
