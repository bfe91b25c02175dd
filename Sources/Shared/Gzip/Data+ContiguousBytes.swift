import FoundationEssentials

extension Data {
    /// `withUnsafeBytes` with a typed error, which Foundation's own does not carry.
    package func withContiguousBytes(_ body: (UnsafeRawBufferPointer) throws(GzipError) -> Void) throws(GzipError) {
        let result = withUnsafeBytes { buffer -> Result<Void, GzipError> in
            do throws(GzipError) { return .success(try body(buffer)) } catch { return .failure(error) }
        }
        try result.get()
    }
}
