import WireModel

/// A session of the application, or, outside of one, the run of the program: what an event's `session_id` names.
typealias SessionID = Identifier<SessionSubject>

/// What a ``SessionID`` identifies.
enum SessionSubject {}

extension SessionID {
    /// How many bytes one has on the wire.
    static var byteCount: Int { 16 }
}
