extension DataSampler {
    /// What it does and what it keeps, as of now.
    ///
    /// - Throws: `notRunning`, `queue`.
    public func status() async throws(DataSamplerError) -> DataSamplerStatus {
        let running = try running()
        return try await running.core.status(await running.controller.report())
    }

    /// Where every record is; what is still in the writer's memory is written first.
    ///
    /// - Throws: `notRunning`, `queue`, `queueFull`.
    public func balance() async throws(DataSamplerError) -> DataSamplerBalance {
        try await (try running()).core.balance()
    }
}
