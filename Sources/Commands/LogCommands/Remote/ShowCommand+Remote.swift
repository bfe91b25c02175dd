extension ShowCommand {
    func runRemotely() async throws {
        let query = try filter.query(collector)
        let printer = LinePrinter(view, isJSON: json)
        try await CollectorClient.with(try collector.access()) { client in
            do { try await client.lines(query, order: "time") { try printer.print($0) } } catch {
                // What came is as good as it was.
                try printer.flush()
                throw error
            }
            if printer.lines == 0 { try await client.requireDevice() }
        }
        try printer.flush()
    }
}
