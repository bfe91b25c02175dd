/// The parts of a line that are text, before they are escaped.
struct LineFields: Equatable, Sendable {
    struct Field: Equatable, Sendable {
        var key: String
        var value: String
    }

    var category: String
    var message: String
    /// In any order; they are written sorted by the bytes of their keys.
    var fields: [Field]
    /// Of texts so long that not all of them is here.
    var leftOutBytes = 0

    /// As it will be on disk, from the category on.
    var body: [UInt8] {
        var body = LineBody(reserve: category.utf8.count + message.utf8.count + 32 * fields.count + 16)
        var (category, message) = (category, message)
        category.withUTF8 { body.addCategory($0) }
        message.withUTF8 { body.addMessage($0) }
        for (index, field) in fields.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }).enumerated() {
            var field = field
            field.key.withUTF8 { key in field.value.withUTF8 { value in body.addField(key, value, isFirst: index == 0) } }
        }
        body.finish(leavingOut: leftOutBytes)
        return body.bytes
    }
}
