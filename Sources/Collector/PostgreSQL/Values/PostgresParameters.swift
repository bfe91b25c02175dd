/// The parameters of one call in the form that libpq accepts.
struct PostgresParameters {
    private(set) var types: [UInt32] = []
    /// One byte comes first, so that the address of an empty value is never null, which would be NULL.
    private var bytes: [UInt8] = [0]
    /// `nil` is NULL.
    private var values: [Range<Int>?] = []

    /// libpq's limit, `PQ_QUERY_PARAM_MAX_LIMIT`.
    static let maximumCount = 65_535

    init(_ parameters: [any PostgresEncodable]) throws(PostgresError) {
        guard parameters.count <= Self.maximumCount else {
            throw PostgresError(
                .statement, "A statement has \(parameters.count) parameters; at most \(Self.maximumCount) are possible."
            )
        }
        types.reserveCapacity(parameters.count)
        values.reserveCapacity(parameters.count)
        for parameter in parameters {
            let start = bytes.count
            types.append(type(of: parameter).postgresType.rawValue)
            values.append(try parameter.encodePostgres(into: &bytes) ? start..<bytes.count : nil)
            guard bytes.count <= Int32.max else {
                throw PostgresError(.statement, "The parameters of a statement have more than 2 GiB.")
            }
        }
    }

    var count: Int32 { Int32(values.count) }

    /// Calls with addresses, lengths and formats (all binary). They are valid during the call.
    func withPointers<Result>(
        _ body: ([UnsafePointer<CChar>?], [Int32], [Int32]) -> Result
    ) -> Result {
        bytes.withUnsafeBytes { bytes in
            let base = bytes.baseAddress!.assumingMemoryBound(to: CChar.self)
            return body(
                values.map { range in range.map { base + $0.lowerBound } }, values.map { Int32($0?.count ?? 0) },
                Array(repeating: 1, count: values.count))
        }
    }
}
