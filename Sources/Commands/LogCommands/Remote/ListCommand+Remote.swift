import WireModel

extension ListCommand {
    func runRemotely() async throws {
        let chunks = try await CollectorClient.with(try collector.access()) { client in
            try await client.chunks(try RemoteQuery(client.device))
        }
        var output = StandardOutput()
        if json {
            try output.json(chunks)
        } else {
            let style = view.style(isTerminal: output.isTerminal)
            var table = TextTable(
                ["chunk", "upload", "type", "lines", "text", "stored", "from", "to", "E", "W", "I", "V"], right: [0, 3, 4, 5, 8, 9, 10, 11])
            for chunk in chunks {
                let times = chunk.times
                table.add(
                    [
                        chunk.id, "\(chunk.upload)/\(chunk.number)", chunk.type?.rawValue ?? "-", "\(chunk.lines)",
                        ByteText.of(chunk.rawBytes), ByteText.of(chunk.storedBytes), times.map { Self.time($0.lowerBound, style) } ?? "-",
                        times.map { Self.time($0.upperBound, style) } ?? "-",
                    ] + chunk.levels.list.map(String.init))
            }
            try output.write(table.text.utf8)
        }
        try output.flush()
    }
}
