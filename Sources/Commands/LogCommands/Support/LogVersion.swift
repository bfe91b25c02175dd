/// The version printed by `--version`.
enum LogVersion {
    static let text = "1.0.0"
}
