import Testing

@testable import ClickHouse

@Suite struct ClickHouseLiteralTests {
    @Test(arguments: [
        ("", "''"), ("a", "'a'"), ("it's", #"'it\'s'"#), (#"\"#, #"'\\'"#), (#"\'"#, #"'\\\''"#),
        ("a\nb\r\t\0", #"'a\nb\r\t\0'"#), ("`ü`", "'`ü`'"),
    ])
    func `A string literal escapes what could end it`(text: String, sql: String) {
        #expect(ClickHouseLiteral.string(text).sql == sql)
    }

    @Test func `Names and tables with a database are quoted`() {
        #expect(ClickHouseSQL.identifier("a`b\\") == #"`a\`b\\`"#)
        #expect(ClickHouseSQL.table("data.my table") == "`data`.`my table`")
        #expect(ClickHouseSQL.table("single") == "`single`")
    }

    @Test func `Bytes, numbers and lists are literals`() {
        #expect(ClickHouseLiteral.bytes([0, 0xAB, 0xFF]).sql == "unhex('00ABFF')")
        #expect(ClickHouseLiteral.unsigned(.max).sql == "18446744073709551615")
        #expect(ClickHouseLiteral.list([.signed(-1), .string("x")]).sql == "(-1, 'x')")
        #expect(ClickHouseLiteral.list([]).sql == "(NULL)")
    }

    @Test func `Parameters take the place of their names`() throws {
        let sql = try ClickHouseSQL.filled(
            "SELECT {a} WHERE x = {b} OR y = {a}", ["a": .unsigned(1), "b": .string("{a}")])
        #expect(sql == "SELECT 1 WHERE x = '{a}' OR y = 1")
    }

    @Test(arguments: ["SELECT {b}", "SELECT {a", "SELECT 1"])
    func `A parameter that is missing or not used is an error`(sql: String) {
        #expect(throws: ClickHouseError.self) { try ClickHouseSQL.filled(sql, ["a": .unsigned(1)]) }
    }
}
