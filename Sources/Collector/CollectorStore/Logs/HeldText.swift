/// How much text the cursors of one reader hold together.
///
/// Not `Sendable`: belongs to its reader.
final class HeldText {
    private(set) var bytes = 0

    func hold(_ count: Int) { bytes += count }
    func release(_ count: Int) { bytes -= count }
}
