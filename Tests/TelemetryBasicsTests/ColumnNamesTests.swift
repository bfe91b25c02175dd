import Testing

@testable import TelemetryBasics

@Suite struct ColumnNamesTests {
    @Test(arguments: [["a", "b", "c"], ["c", "b", "a"], ["b", "b", "c", "a", "a"]])
    func `Every column is found, in whatever order they are asked for`(order: [String]) throws {
        var names = try ColumnNames(["a", "b", "c"])
        for name in order + order {
            let index = try names.index(of: name)
            #expect(index == ["a": 0, "b": 1, "c": 2][name])
        }
    }

    @Test func `A missing name is a fault that lists the names there are`() throws {
        var names = try ColumnNames(["a", "b"])
        let fault = #expect(throws: ColumnNameFault.self) { try names.index(of: "c") }
        #expect(fault?.finding == "it has no column c; its columns are a, b")
        let index = try names.index(of: "b")
        #expect(index == 1)
    }

    @Test func `Two columns of one name are a fault`() {
        let fault = #expect(throws: ColumnNameFault.self) { try ColumnNames(["a", "b", "a"]) }
        #expect(fault?.finding == "two of its columns are named a; name one of them with AS")
    }
}
