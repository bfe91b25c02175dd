import NIOCore
import NIOHTTP1
import Testing

@testable import ClickHouse

@Suite struct ServerExceptionTests {
    private static func exception(_ code: Int, _ text: String = "") -> ServerException {
        ServerException(code: code, text: text)
    }

    @Test(arguments: [
        "Code: 60, e.displayText() = DB::Exception: Table default.t doesn't exist., e.what() = DB::Exception\n",
        "Code: 60. DB::Exception: Table default.t does not exist. (UNKNOWN_TABLE) (version 25.8.2.29)\n",
    ])
    func `The number is read from the text of old and current engines`(text: String) {
        let exception = ServerException(status: 404, headers: [:], body: ByteBuffer(string: text))
        #expect(exception?.code == 60)
    }

    @Test func `A header with a number is an exception whatever the status is`() {
        let exception = ServerException(
            status: 200, headers: ["X-ClickHouse-Exception-Code": "159"], body: ByteBuffer(string: "rows"))
        #expect(exception?.code == 159)
    }

    @Test func `Rows that begin like an exception are rows`() {
        #expect(ServerException(status: 200, headers: [:], body: ByteBuffer(string: "Code: 60")) == nil)
    }

    @Test(arguments: [16, 60, 62, 81, 115, 164, 192, 193, 202, 242, 252, 285, 286, 354, 497, 516])
    func `Nothing is stored after an exception that comes before the write`(code: Int) {
        #expect(Self.exception(code).isOfNothingStored)
    }

    @Test(arguments: [
        1, 32, 33, 36, 49, 75, 117, 159, 209, 210, 225, 236, 241, 243, 244, 254, 319, 394, 389, 999, 1000, 1002,
        100_000,
    ])
    func `The outcome is unknown after every other exception`(code: Int) {
        #expect(!Self.exception(code).isOfNothingStored)
    }

    @Test func `A replica without disk, ZooKeeper or tables is asked last for inserts`() {
        for code in [60, 75, 81, 225, 242, 243, 999] { #expect(Self.exception(code).isOfReplicaWithoutInserts) }
        for code in [62, 159, 202, 252, 285] { #expect(!Self.exception(code).isOfReplicaWithoutInserts) }
    }

    @Test func `Texts decide where a number has two meanings`() {
        #expect(Self.exception(33, "Cannot read all data. Bytes read: 7.: (at row 10)").isOfNothingStored)
        #expect(!Self.exception(242, "Table is in readonly mode due to shutdown").isOfNothingStored)
        #expect(Self.exception(164, "Replica is not active right now").errorCode == .readOnly)
        #expect(Self.exception(164, "Cannot insert into table in readonly mode").errorCode == .refused)
    }

    @Test func `The rows that follow the first line are left out of an insert's error`() {
        let exception = Self.exception(62, "Syntax error: ``) FORMAT RowBinary\n\u{0}\u{0}secret")
        #expect(exception.withoutRows.text == "Syntax error: ``) FORMAT RowBinary")
    }

    @Test func `Another replica is asked where it may know better`() {
        for code in [60, 75, 225, 202, 999, 40] { #expect(Self.exception(code).mayDifferOnAnotherReplica) }
        for code in [62, 159, 193, 395] { #expect(!Self.exception(code).mayDifferOnAnotherReplica) }
    }
}
