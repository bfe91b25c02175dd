import NIOCore
import NIOHTTP1

/// An exception that a ClickHouse server reports: its number and its text.
///
/// The numbers are those of ClickHouse's `ErrorCodes.cpp`. They are the same in all versions.
struct ServerException: Sendable, Equatable {
    let code: Int
    let text: String

    /// More of a text goes into no message. Texts can quote long queries.
    private static let textLimit = 600

    init(code: Int, text: String) {
        self.code = code
        self.text = text
    }

    /// Reads the exception of an answer; `nil` if it reports none.
    ///
    /// Current engines name the number in a header, also where the status is 200. All begin the body with `Code: N`,
    /// which is only read if the status is an error's, because rows may begin with the same bytes.
    init?(status: Int, headers: HTTPHeaders, body: ByteBuffer) {
        let header = headers.first(name: "x-clickhouse-exception-code").flatMap { Int($0) }
        guard header != nil || status != 200 else { return nil }
        let text = body.getString(at: body.readerIndex, length: min(body.readableBytes, Self.textLimit)) ?? ""
        guard let code = header ?? Self.code(text) else { return nil }
        self.init(code: code, text: text.trimmedOfSpace)
    }

    private static func code(_ text: String) -> Int? {
        guard text.hasPrefix("Code: ") else { return nil }
        return Int(text.dropFirst("Code: ".count).prefix { $0.isNumber })
    }

    /// The error code, which says what the caller can do about it.
    var errorCode: ClickHouseError.Code {
        switch code {
        case Self.tableIsReadOnly: .readOnly
        case Self.readOnly where isOfInactiveReplica: .readOnly
        case _ where Self.unavailable.contains(code): .unavailable
        default: .refused
        }
    }

    /// The same with the first line of the text alone. If an engine cannot read an insert, its text goes on with the
    /// first rows.
    var withoutRows: ServerException {
        let isText = { (scalar: Unicode.Scalar) in scalar.value >= 0x20 && scalar.value != 0xFFFD }
        return ServerException(code: code, text: String(text.unicodeScalars.prefix(while: isText)))
    }

    /// Whether an insert of one block into one part has stored nothing, and will not do so later.
    ///
    /// This holds for tables of the MergeTree family without materialized views: a view is filled after its table, and
    /// its exceptions have the same numbers. Everything not listed may have been raised after the part was committed,
    /// so its outcome is unknown.
    var isOfNothingStored: Bool {
        switch code {
        case Self.tableIsReadOnly:
            // Current engines also say so of a part whose commit was interrupted by the end of the server.
            !text.contains("due to shutdown")
        case _ where Self.parsing.contains(code):
            // Other readers raise these numbers too. Only the parser of the insert adds a row's number.
            text.contains("(at row ")
        default: Self.beforeWriting.contains(code)
        }
    }

    /// Whether another replica may answer the same query. The others would refuse it as well, or need as long.
    var mayDifferOnAnotherReplica: Bool {
        code != Self.timeoutExceeded
            && (errorCode != .refused || Self.ofOneReplica.contains(code))
    }

    /// Whether this replica will refuse inserts for a while: it has lost ZooKeeper, was replaced by an empty one, or
    /// its disk is full.
    var isOfReplicaWithoutInserts: Bool {
        errorCode == .readOnly || Self.zooKeeper.contains(code) || Self.missingTable.contains(code)
            || Self.fullDisk.contains(code)
    }

    private var isOfInactiveReplica: Bool { text.contains("not active") }

    private static let tableIsReadOnly = 242
    private static let readOnly = 164
    private static let timeoutExceeded = 159
    /// UNKNOWN_TABLE, UNKNOWN_DATABASE.
    private static let missingTable: Set = [60, 81]
    /// CANNOT_WRITE_TO_FILE_DESCRIPTOR, NOT_ENOUGH_SPACE.
    private static let fullDisk: Set = [75, 243]
    /// NO_ZOOKEEPER, UNEXPECTED_ZOOKEEPER_ERROR, KEEPER_EXCEPTION.
    private static let zooKeeper: Set = [225, 244, 999]

    /// The server has too much to do, lacks what it needs, or is ending.
    private static let unavailable: Set = zooKeeper.union([
        75,  // CANNOT_WRITE_TO_FILE_DESCRIPTOR: the disk is full
        159,  // TIMEOUT_EXCEEDED
        202,  // TOO_MANY_SIMULTANEOUS_QUERIES
        203,  // NO_FREE_CONNECTION
        209, 210,  // SOCKET_TIMEOUT, NETWORK_ERROR
        236,  // ABORTED
        241,  // MEMORY_LIMIT_EXCEEDED
        243,  // NOT_ENOUGH_SPACE
        252,  // TOO_MANY_PARTS
        254,  // NO_ACTIVE_REPLICAS
        285,  // TOO_FEW_LIVE_REPLICAS
        286,  // UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE
        289,  // REPLICA_IS_NOT_IN_QUORUM
        319,  // UNKNOWN_STATUS_OF_INSERT
        394,  // QUERY_WAS_CANCELLED
    ])

    /// Checks that come before the first byte is written, and transactions in ZooKeeper that failed as a whole.
    private static let beforeWriting: Set = [
        16,  // NO_SUCH_COLUMN_IN_TABLE
        60, 81,  // UNKNOWN_TABLE, UNKNOWN_DATABASE
        62,  // SYNTAX_ERROR
        115,  // UNKNOWN_SETTING
        164,  // READONLY: the user's rights, or a replica that is not active
        192, 193, 194, 195,  // UNKNOWN_USER, WRONG_PASSWORD, REQUIRED_PASSWORD, IP_ADDRESS_NOT_ALLOWED
        202,  // TOO_MANY_SIMULTANEOUS_QUERIES
        252,  // TOO_MANY_PARTS
        285,  // TOO_FEW_LIVE_REPLICAS
        286,  // UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE
        354,  // ZLIB_INFLATE_FAILED: the body was cut or damaged; no block is complete before the end of the body
        452,  // SETTING_CONSTRAINT_VIOLATION
        497, 516,  // ACCESS_DENIED, AUTHENTICATION_FAILED
    ]

    /// ATTEMPT_TO_READ_AFTER_EOF, CANNOT_READ_ALL_DATA, INCORRECT_DATA, TOO_LARGE_ARRAY_SIZE, TOO_LARGE_STRING_SIZE.
    private static let parsing: Set = [32, 33, 117, 128, 131]

    /// A replica that was replaced by an empty one lacks tables, and one with a damaged disk fails to read.
    private static let ofOneReplica: Set = missingTable.union([
        32, 33, 40,  // ATTEMPT_TO_READ_AFTER_EOF, CANNOT_READ_ALL_DATA, CHECKSUM_DOESNT_MATCH
        74, 76, 107,  // CANNOT_READ_FROM_FILE_DESCRIPTOR, CANNOT_OPEN_FILE, FILE_DOESNT_EXIST
        226, 246,  // NO_FILE_IN_DATA_PART, CORRUPTED_DATA
    ])
}

extension ClickHouseError {
    init(_ exception: ServerException, on replica: ClickHouseReplica) {
        self.init(
            exception.errorCode, "\(replica) refused the request: \(exception.text)", serverCode: exception.code)
    }
}

extension String {
    /// The text without white space at both ends.
    fileprivate var trimmedOfSpace: String {
        var text = self[...]
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}
