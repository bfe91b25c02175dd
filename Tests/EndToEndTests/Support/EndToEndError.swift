/// Something a test needs did not come about.
struct EndToEndError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
