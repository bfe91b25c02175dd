/// A page of a list.
package struct Page<Item> {
    package var items: [Item]
    /// The `cursor` for the next page; `null` at the end.
    package var next: String?
    /// Items on all pages; absent if not counted.
    package var total: Int?

    private enum Key: CodingKey { case items, next, total }

    package init(items: [Item], next: String?, total: Int? = nil) {
        self.items = items
        self.next = next
        self.total = total
    }
}

extension Page: Sendable where Item: Sendable {}

extension Page: Encodable where Item: Encodable {
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(items, forKey: .items)
        try container.encode(next, forKey: .next)
        try container.encodeIfPresent(total, forKey: .total)
    }
}

extension Page: Decodable where Item: Decodable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        items = try container.decode([Item].self, forKey: .items)
        next = try container.decodeIfPresent(String.self, forKey: .next)
        total = try container.decodeIfPresent(Int.self, forKey: .total)
    }
}
