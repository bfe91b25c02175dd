import Testing

@testable import Registry

struct MetadataCacheTests {
    /// The group of a row is the first letter of its key.
    private static func cache(limit: Int = 100) -> MetadataCache<String, Int, Character> {
        MetadataCache(limit: limit) { key, _ in key.first ?? " " }
    }

    @Test func `A group is removed, and the others stay`() {
        let cache = Self.cache()
        for (value, key) in ["a1", "a2", "b1"].enumerated() { cache.insert(value, for: key, readAt: cache.generation) }
        cache.remove("a")
        #expect(cache["a1"] == nil && cache["a2"] == nil && cache["b1"] == 2)
        cache.insert(7, for: "a1", readAt: cache.generation)
        cache.remove(all: ["a", "b", "c"])
        #expect(cache["a1"] == nil && cache["b1"] == nil)
    }

    @Test func `Everything is removed at once`() {
        let cache = Self.cache()
        for key in ["a1", "b1"] { cache.insert(1, for: key, readAt: cache.generation) }
        let generation = cache.generation
        cache.removeAll()
        cache.insert(1, for: "a1", readAt: generation)
        #expect(cache["a1"] == nil && cache["b1"] == nil)
    }

    @Test func `A row that was read before a removal does not return`() {
        let cache = Self.cache()
        let generation = cache.generation
        cache.remove("a")
        cache.insert(1, for: "a1", readAt: generation)
        #expect(cache["a1"] == nil)
    }

    @Test func `A full cache starts again`() {
        let cache = Self.cache(limit: 2)
        for key in ["a1", "a2", "a3"] { cache.insert(1, for: key, readAt: cache.generation) }
        #expect(cache["a1"] == nil && cache["a2"] == nil && cache["a3"] == 1)
        cache.remove("a")
        #expect(cache["a3"] == nil)
    }
}
