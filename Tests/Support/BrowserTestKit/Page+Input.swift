import JSON

// Mouse and keyboard, as a person uses them: real input events, which the browser handles itself.
extension Page {
    /// A place in the window, in CSS pixels from its upper left corner.
    private struct Point: Equatable {
        var x: Double
        var y: Double
    }

    /// Clicks in the middle of an element. Waits until it is shown, enabled, at rest and not covered by another.
    /// - Parameters:
    ///   - selector: of CSS. The first element that is shown is meant.
    ///   - text: only an element that contains it.
    package func click(_ selector: String, containing text: String? = nil, within limit: Duration = Page.limit)
        async throws
    {
        let point = try await point(of: selector, containing: text, within: limit)
        try await mouse("mouseMoved", point)
        try await mouse("mousePressed", point)
        try await mouse("mouseReleased", point)
    }

    /// Where to point at an element, as soon as it can be clicked.
    private func point(of selector: String, containing text: String? = nil, within limit: Duration = Page.limit)
        async throws -> Point
    {
        var last: Point?
        var obstacle: String?
        do {
            return try await poll(
                for: "\(selector)\(text.map { " with the text \"\($0)\"" } ?? "") to be ready", within: limit
            ) {
                let place = try await evaluate(
                    function: PageScript.locate, .text(selector), text.map { .text($0) } ?? .null)
                obstacle = place["obstacle"].text
                guard let x = place["x"].number, let y = place["y"].number else {
                    last = nil
                    return nil
                }
                let point = Point(x: x, y: y)
                // Twice at the same place: it does not move.
                defer { last = point }
                return point == last ? point : nil
            }
        } catch let error as BrowserError where error.code == .timedOut {
            throw BrowserError(.timedOut, "\(error): \(obstacle ?? "it moves")")
        }
    }

    private func mouse(_ kind: String, _ point: Point) async throws {
        let isMove = kind == "mouseMoved"
        _ = try await call(
            "Input.dispatchMouseEvent",
            [
                "type": .text(kind), "x": .real(point.x), "y": .real(point.y), "button": isMove ? "none" : "left",
                "buttons": kind == "mousePressed" ? 1 : 0, "clickCount": isMove ? 0 : 1,
            ])
    }

    package struct Modifiers: OptionSet, Sendable {
        package let rawValue: Int

        package init(rawValue: Int) {
            self.rawValue = rawValue
        }

        package static let control = Modifiers(rawValue: 2)
        package static let shift = Modifiers(rawValue: 8)
    }

    /// Presses a key and lets it go. The element with the focus gets it.
    package func press(_ key: Key, _ modifiers: Modifiers = []) async throws {
        // Held with Control it is a command, and types nothing.
        let text = modifiers.contains(.control) ? nil : key.text
        var event: [String: JSONValue] = [
            "key": .text(key.name), "code": .text(key.code), "modifiers": .init(modifiers.rawValue),
            "windowsVirtualKeyCode": .init(key.number),
        ]
        var down = event
        down["type"] = text == nil ? "rawKeyDown" : "keyDown"
        if let text { down["text"] = .text(text) }
        _ = try await call("Input.dispatchKeyEvent", .object(down))
        event["type"] = "keyUp"
        _ = try await call("Input.dispatchKeyEvent", .object(event))
    }

    /// Types a text, key by key. The element with the focus gets it.
    package func type(_ text: String) async throws {
        for character in text {
            if let key = character == "\n" ? .enter : Key(character) {
                try await press(key, character.isUppercase ? .shift : [])
            } else {
                // No key of the keyboard; some other way of input.
                _ = try await call("Input.insertText", ["text": .text(String(character))])
            }
        }
    }

    /// Replaces what a field holds. Waits until it can be clicked.
    /// - Parameter text: for a field of a date or time as its `value` accepts it: `2026-01-31`, `2026-01-31T08:00`.
    package func fill(_ selector: String, _ text: String) async throws {
        _ = try await point(of: selector)
        let isToBeTyped = try await evaluate(function: PageScript.prepareField, .text(selector), .text(text))
        guard isToBeTyped == true else { return }
        if text.isEmpty {
            try await press(.delete)
        } else {
            _ = try await call("Input.insertText", ["text": .text(text)])
        }
    }

    /// Chooses an option of a `<select>`. Waits until that can be clicked.
    /// - Parameter option: value or text of the option.
    package func choose(_ option: String, in selector: String) async throws {
        _ = try await point(of: selector)
        _ = try await evaluate(function: PageScript.choose, .text(selector), .text(option))
    }
}
