@testable import BrowserTestKit
import JSON
import Testing

extension BrowserKitTests {
    @Suite struct InputTests {
        private static let form = Planted.page(
            """
            <form action="/answer">
            <label>First <input id=first name=first></label>
            <label>Second <textarea id=second name=second></textarea></label>
            <label>Day <input id=day name=day type=date></label>
            <label>State <select id=state name=state><option value=a>Active</option><option \
            value=s>Silent</option></select></label>
            <label><input id=box type=checkbox name=box> Box</label>
            <button type=button id=other>Other</button>
            <button id=go>Go</button>
            </form>
            """,
            script: """
                keys = []; addEventListener('keydown', event => keys.push(event.code + ':' + event.key + \
                (event.isTrusted ? '' : '!')));
                """)
        private static let others = ["/answer": Planted.page(title: "Answer")]

        @Test func `Typed text arrives key by key`() async throws {
            try await Planted.show(Self.form) { page, _ in
                try await page.click("#first")
                #expect(try await page.isFocused("#first"))
                try await page.type("Az 9?/é")
                #expect(try await page.value(of: "#first") == "Az 9?/é")
                let keys = try await page.evaluate("keys")
                #expect(
                    keys == ["KeyA:A", "KeyZ:z", "Space: ", "Digit9:9", "Slash:?", "Slash:/"])
                try await page.press(.backspace)
                try await page.press("a", .control)
                try await page.type("new")
                #expect(try await page.value(of: "#first") == "new")
            }
        }

        @Test func `The keyboard moves the focus`() async throws {
            try await Planted.show(Self.form, others: Self.others) { page, server in
                try await page.press(.tab)
                #expect(try await page.isFocused("#first"))
                #expect(try await page.isFocused("#second") == false)
                try await page.press(.tab)
                #expect(try await page.isFocused("#second"))
                #expect(try await page.focus == "#second")
                try await page.press(.tab, .shift)
                #expect(try await page.isFocused("#first"))
                try await page.type("by key")
                let response = try await page.navigating { try await page.press(.enter) }
                #expect(response.url.hasPrefix("\(server.origin)/answer?first=by+key&"))
                #expect(try await page.text(of: "h1") == "Answer")
            }
        }

        @Test func `Fields of every kind are filled`() async throws {
            try await Planted.show(Self.form, others: Self.others) { page, _ in
                try await page.fill("#first", "old")
                try await page.fill("#first", "<b>\u{202E}新</b>")
                try await page.fill("#second", "two\nlines")
                try await page.fill("#day", "2026-01-31")
                try await page.choose("Silent", in: "#state")
                try await page.click("#box")
                #expect(try await page.value(of: "#first") == "<b>\u{202E}新</b>")
                #expect(try await page.value(of: "#second") == "two\nlines")
                #expect(try await page.value(of: "#day") == "2026-01-31")
                #expect(try await page.value(of: "#state") == "s")
                #expect(try await page.evaluate("document.querySelector('#box').checked") == true)
                try await page.fill("#second", "")
                let response = try await page.submit("form")
                #expect(response.status == 200 && response.url.hasSuffix("&second=&day=2026-01-31&state=s&box=on"))
            }
        }

        @Test func `A field that accepts no text is an error`() async throws {
            try await Planted.show(Self.form) { page, _ in
                let error = await #expect(throws: BrowserError.self) { try await page.fill("#go", "x") }
                #expect(error?.code == .script && error?.description.contains("#go is no field for text") == true)
                let day = await #expect(throws: BrowserError.self) { try await page.fill("#day", "tomorrow") }
                #expect(day?.description.contains("takes no \"tomorrow\"") == true)
                let choice = await #expect(throws: BrowserError.self) { try await page.choose("Gone", in: "#state") }
                #expect(choice?.description.contains("has no option Gone, but a, s") == true)
            }
        }

        @Test func `A click is that of a mouse`() async throws {
            let page = Planted.page(
                "<button id=one>One</button><button id=two>Two</button>",
                script: """
                    seen = [];
                    for (const kind of ['mouseover', 'pointerdown', 'pointerup', 'click'])
                        addEventListener(kind, event => {
                            if (event.target.id === 'two') seen.push([kind, event.isTrusted, event.buttons]);
                        }, true);
                    """)
            try await Planted.show(page) { page, _ in
                try await page.click("button", containing: "Two")
                #expect(
                    try await page.evaluate("seen") == [
                        ["mouseover", true, 0], ["pointerdown", true, 1], ["pointerup", true, 0], ["click", true, 0],
                    ])
            }
        }

        @Test func `A click waits until its element is ready`() async throws {
            let page = Planted.page(
                "<button id=late disabled>Late</button><div id=cover style=\"position: fixed; inset: 0\"></div>",
                script: """
                    clicks = 0; addEventListener('click', event => { if (event.target.id === 'late') clicks += 1 });
                    setTimeout(() => { late.disabled = false }, 100);
                    setTimeout(() => { cover.remove() }, 200);
                    """)
            try await Planted.show(page) { page, _ in
                try await page.click("#late")
                #expect(try await page.evaluate("clicks") == 1)
            }
        }
    }
}
