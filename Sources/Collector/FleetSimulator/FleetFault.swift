/// What goes wrong on purpose, each with some probability at every request of a device.
package enum FleetFault: String, CaseIterable, Sendable {
    /// The request arrives; its answer does not.
    case lostAnswer = "lost-answer"
    /// The connection ends in the middle of the request's body.
    case cutRequest = "cut-request"
    /// The same request twice at once.
    case repeated
    /// A request comes after one that was made later.
    case reordered
    /// A byte of a record is another one on the way.
    case damaged
    /// The credential is refused: the device enrolls again, with the former one as its proof.
    case reenroll
    /// The device's disk goes back to an older image.
    case rollback
    /// The device's wall clock is set to another time.
    case clockJump = "clock-jump"

    /// Of a request, or of a second for a clock's jump.
    var probability: Double {
        switch self {
        case .lostAnswer, .repeated, .reordered: 0.05
        case .cutRequest, .damaged, .rollback: 0.03
        case .reenroll: 0.01
        case .clockJump: 0.002
        }
    }
}
