import JSON
import WireModel

/// A page that asks before something is done that cannot be undone. Its form goes to the page's own address, with the
/// action and the fields that the person confirms.
struct Question {
    var title: String
    var text: String
    /// The facts that the question is about.
    var facts: [(label: String, value: JSONValue)] = []
    /// The field `action` of the answer.
    var action: String
    /// Further fields of the answer.
    var fields = FormFields()
    /// The text on the button: what will be done.
    var button: String
    /// The address of the way back, without the proxy's prefix.
    var back: String
    /// The text that a person types before something is erased; `nil` if a click is enough.
    var typed: String?

    var view: View {
        View(
            "question", title: title,
            [
                "text": .text(text),
                "facts": .array(facts.map { ["label": .text($0.label), "value": $0.value] }),
                "fields": .array(
                    fields.with("action", action).fields.map { ["name": .text($0.name), "value": .text($0.value)] }),
                "button": .text(button), "back": .text(back), "typed": JSONValue(typed),
            ])
    }

    /// - Throws: `Problem` unless the person typed this text. The commas of a large number may be left out.
    static func requireTyped(_ text: String, in form: FormFields) throws(Problem) {
        guard form.text("typed")?.replacing(",", with: "") == text else {
            throw Problem(
                status: 422, code: .invalidField, title: "Not confirmed",
                detail: "The text that was typed is not the one that was asked for. Nothing was done.")
        }
    }
}
