import FoundationEssentials
import Glibc
import Gzip
import LogStore

extension FetchCommand {
    func runRemotely() async throws {
        let query = try filter.query(collector)
        try await CollectorClient.with(try collector.access()) { client in
            if chunks { try await fetchChunks(query, client) } else { try await fetchWhole(query, client) }
        }
    }

    private func fetchChunks(_ query: RemoteQuery, _ client: CollectorClient) async throws {
        let request = RemoteFetchHead.Request(
            collector: client.name, device: "\(client.device)", command: nil, isCompressed: gzip, application: application,
            deviceName: deviceName, type: filter.type.rawValue, level: filter.level, since: filter.since, until: filter.until,
            categories: filter.category, text: filter.text)
        try await RemoteFetch.run(
            request, filter.filter(), query, client, into: ChunkFolder(path: output ?? ".", isForced: force), isJSON: json)
    }

    /// To one file, or standard output.
    private func fetchWhole(_ query: RemoteQuery, _ client: CollectorClient) async throws {
        guard let output = try outputFile() else {
            var sink = FileChunkSink(descriptor: STDOUT_FILENO, path: "standard output")
            do { try await write(query, client) { (bytes) throws(LogStoreError) in try sink.write(bytes) } } catch let error
                as LogStoreError
            {
                if (error.cause as? POSIXError)?.code == .EPIPE { throw LogCommandError(.readerGone, error.message) }
                throw error
            }
            return
        }
        let partial = output + SegmentName.partialSuffix
        let file = try StoreFile(replacing: partial)
        var sink = FileChunkSink(descriptor: file.descriptor, path: partial)
        do {
            try await write(query, client) { (bytes) throws(LogStoreError) in try sink.write(bytes) }
            guard rename(partial, output) == 0 else { throw LogStoreError.system("renaming", partial) }
        } catch {
            unlink(partial)
            throw error
        }
        try Self.sayWhere(output)
    }

    private func write(
        _ query: RemoteQuery, _ client: CollectorClient, to sink: @escaping (UnsafeRawBufferPointer) throws(LogStoreError) -> Void
    ) async throws {
        let path = query.with("order", "number").path(CollectorClient.contentRoute)
        var bytes = 0
        if gzip {
            let compressor = try GzipCompressor()
            var failure: LogStoreError?
            let keep = { (output: UnsafeRawBufferPointer) in
                guard failure == nil else { return }
                do throws(LogStoreError) { try sink(output) } catch { failure = error }
            }
            try await client.content(path) { text in
                bytes += text.count
                try compressor.update(text, output: keep)
                if let failure { throw failure }
            }
            if bytes > 0 { try compressor.finish(output: keep) }
            if let failure { throw failure }
        } else {
            try await client.content(path) { text in
                bytes += text.count
                try sink(text)
            }
        }
        if bytes == 0 { try await client.requireDevice() }
    }
}
