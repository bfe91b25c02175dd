import Testing

@testable import ClusterRegistry

@Suite struct RegistryPlaceholdersTests {
    @Test(arguments: [
        ("SELECT 1", "SELECT 1"),
        ("?", "$1"),
        ("a = ? AND b = ?", "a = $1 AND b = $2"),
        ("VALUES (?,?,?)", "VALUES ($1,$2,$3)"),
        ("?1 IS NULL OR a = ?1 AND b = ?12", "$1 IS NULL OR a = $1 AND b = $12"),
        ("a = '?' AND b = ?", "a = '?' AND b = $1"),
        ("a = 'it''s ?1' AND \"?\" = ?", "a = 'it''s ?1' AND \"?\" = $1"),
        ("LIMIT ?", "LIMIT $1"),
        ("ä = ? -- ü", "ä = $1 -- ü"),
    ])
    func `A text gets the parameters of PostgreSQL`(sql: String, translated: String) {
        #expect(RegistryPlaceholders.translated(sql) == translated)
    }
}
