import BrowserTestKit
import Foundation
import Testing

extension BrowserKitTests {
    @Suite struct PictureTests {
        private static let page = Planted.page(
            "<p>Text</p>",
            style: "@media (prefers-color-scheme: dark) { body { background: #111; color: #eee } }")

        /// Width and height, from the head of a PNG.
        private static func size(_ picture: Data) -> [Int] {
            guard picture.starts(with: [0x89, 0x50, 0x4E, 0x47]), picture.count > 24 else { return [] }
            return [16, 20].map { start in
                picture.dropFirst(start).prefix(4).reduce(0) { $0 << 8 | Int($1) }
            }
        }

        @Test func `Pictures are made in every size and colour scheme`() async throws {
            let directory = FileManager.default.temporaryDirectory.appendingPathComponent(
                "pictures-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: directory) }
            try await Planted.show(Self.page, viewport: .phone) { page, _ in
                let files = try await page.screenshots(named: "planted", in: directory)
                #expect(
                    files.map(\.lastPathComponent) == [
                        "planted-390-light.png", "planted-390-dark.png", "planted-1280-light.png",
                        "planted-1280-dark.png", "planted-1920-light.png", "planted-1920-dark.png",
                    ])
                let pictures = try files.map { try Data(contentsOf: $0) }
                #expect(
                    pictures.map(Self.size) == [
                        [390, 844], [390, 844], [1280, 800], [1280, 800], [1920, 1080], [1920, 1080],
                    ])
                #expect(Set(pictures).count == 6)
                // The page is as before, and the same page gives the same picture.
                #expect(try await page.screenshot() == pictures[0])
            }
        }

        @Test func `A whole page is as high as it is`() async throws {
            try await Planted.show(Planted.page("<div style=\"height: 3000px\"></div>")) { page, _ in
                #expect(Self.size(try await page.screenshot()) == [1280, 800])
                let whole = Self.size(try await page.screenshot(whole: true))
                #expect(whole.first == 1280 && (3000...3300).contains(whole.last ?? 0))
            }
        }
    }
}
