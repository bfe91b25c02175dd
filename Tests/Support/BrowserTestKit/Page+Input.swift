import JSON

// Mouse and keyboard, as a person uses them: real input events, which the browser handles itself.
extension Page {
    /// A place in the window, in CSS pixels from its upper left corner.
    package struct Point: Sendable, Hashable {
        package var x: Double
        package var y: Double

        package init(x: Double, y: Double) {
            self.x = x
            self.y = y
        }
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
        try await mouse("mousePressed", point, button: "left")
        try await mouse("mouseReleased", point, button: "left")
    }

    /// Moves the mouse over an element.
    package func hover(_ selector: String, containing text: String? = nil) async throws {
        try await mouse("mouseMoved", try await point(of: selector, containing: text))
    }

    /// Moves the mouse with its button held down.
    package func drag(from start: Point, to end: Point) async throws {
        try await mouse("mouseMoved", start)
        try await mouse("mousePressed", start, button: "left")
        let steps = 8
        for step in 1...steps {
            let part = Double(step) / Double(steps)
            let point = Point(x: start.x + (end.x - start.x) * part, y: start.y + (end.y - start.y) * part)
            try await mouse("mouseMoved", point, button: "left")
        }
        try await mouse("mouseReleased", end, button: "left")
    }

    /// Drags inside an element along its middle line.
    /// - Parameters:
    ///   - start, end: parts of its width, 0 being its left edge.
    package func drag(in selector: String, from start: Double, to end: Double) async throws {
        _ = try await point(of: selector)
        let box = try await evaluate(
            function: """
                selector => {
                    const { x, y, width, height } = document.querySelector(selector).getBoundingClientRect();
                    return { x, y, width, height };
                }
                """, .text(selector))
        guard let x = box["x"].number, let y = box["y"].number, let width = box["width"].number,
            let height = box["height"].number
        else { throw BrowserError(.script, "\(selector) has no box") }
        try await drag(
            from: Point(x: x + width * start, y: y + height / 2), to: Point(x: x + width * end, y: y + height / 2))
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

    private func mouse(_ kind: String, _ point: Point, button: String = "none") async throws {
        _ = try await call(
            "Input.dispatchMouseEvent",
            [
                "type": .text(kind), "x": .real(point.x), "y": .real(point.y), "button": .text(button),
                "buttons": button == "left" && kind != "mouseReleased" ? 1 : 0,
                "clickCount": kind == "mouseMoved" ? 0 : 1,
            ])
    }

    package struct Modifiers: OptionSet, Sendable {
        package let rawValue: Int

        package init(rawValue: Int) {
            self.rawValue = rawValue
        }

        package static let alt = Modifiers(rawValue: 1)
        package static let control = Modifiers(rawValue: 2)
        package static let shift = Modifiers(rawValue: 8)
    }

    /// Presses a key and lets it go. The element with the focus gets it.
    package func press(_ key: Key, _ modifiers: Modifiers = []) async throws {
        // Held with Control or Alt it is a command, and types nothing.
        let text = modifiers.isDisjoint(with: [.control, .alt]) ? key.text : nil
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
