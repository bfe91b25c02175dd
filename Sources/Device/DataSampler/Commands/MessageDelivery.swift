import DeviceTunables
import FoundationEssentials
import Logging
import Synchronization
import WireModel

/// Gives messages of people to the host program: one after the other, in the order of their commands.
///
/// A message is delivered when `receiveMessage` has returned. The command's end is stored after that, so a kill between
/// the two delivers the message again, with the same id: at least once, and never `done` without it. Deliveries run
/// beside the other commands, so that a slow program holds up no wipe. Safe from any thread.
final class MessageDelivery: Sendable {
    typealias Receive = @Sendable (DataSamplerMessage) async throws -> Void

    private struct Job: Sendable {
        var command: Data
        var message: DataSamplerMessage
    }

    private struct State {
        /// Commands whose message waits or is being delivered.
        var open: Set<Data> = []
        var isErased = false
    }

    private enum Outcome: Sendable {
        case taken
        case refused(String)
    }

    private let receive: Receive?
    private let notices: NoticeBoard
    private let events: DeviceEvents
    private let sleeper: any Clock<Duration>
    private let logger: Logger
    private let state = Mutex(State())
    private let jobs: AsyncStream<Job>
    private let continuation: AsyncStream<Job>.Continuation

    /// - Parameter receive: `nil`: the host program takes no messages.
    init(
        receive: Receive?, notices: NoticeBoard, events: DeviceEvents, sleeper: any Clock<Duration>, logger: Logger
    ) {
        self.receive = receive
        self.notices = notices
        self.events = events
        self.sleeper = sleeper
        self.logger = logger
        // Each is an entry of the ledger.
        (jobs, continuation) = AsyncStream.makeStream(
            bufferingPolicy: .bufferingOldest(Tunables.Commands.maximumEntries))
    }

    /// Lets a message wait for its delivery, or finds that it does. Events tell how that ends.
    /// - Returns: `false` if the host program takes no messages.
    func begin(command: Data, _ message: WireDeliverMessage) -> Bool {
        guard receive != nil else { return false }
        guard state.withLock({ $0.open.insert(command).inserted }) else { return true }
        let job = Job(command: command, message: DataSamplerMessage(command: command, message))
        if case .enqueued = continuation.yield(job) { return true }
        end(command, .ended(.notNow, "too many messages wait for the program"))
        return true
    }

    /// The message is not delivered any more. One that the program is being given may arrive all the same.
    func cancel(command: Data) { state.withLock { _ = $0.open.remove(command) } }

    /// Forgets all messages, because the device is wiped or leaves. The ledger follows by ``claimErasure()``.
    func erase() {
        state.withLock { $0 = State(isErased: true) }
        events.wake(.commands)
    }

    /// - Returns: whether messages were erased since the last call.
    func claimErasure() -> Bool {
        state.withLock { state in
            defer { state.isErased = false }
            return state.isErased
        }
    }

    /// Delivers until its task is cancelled. What is being delivered then is delivered again by the next start.
    func run() async {
        for await job in jobs {
            guard state.withLock({ $0.open.contains(job.command) }) else { continue }
            let outcome = await deliver(job.message)
            guard !Task.isCancelled else { return }
            switch outcome {
            case .taken:
                notices.post(
                    .messageReceived, "the program has taken a message of a person", ["command": job.message.id])
                end(job.command, .ended(.done, ""))
            case .refused(let why):
                logger.warning(
                    "a message was not delivered; trying again later",
                    metadata: ["command": "\(job.message.id)", "reason": "\(why)"])
                end(job.command, .ended(.notNow, why))
            }
        }
    }

    private func end(_ command: Data, _ course: CommandCourse) {
        guard state.withLock({ $0.open.remove(command) != nil }) else { return }
        events.post(.commandWent(command, course))
    }

    private func deliver(_ message: DataSamplerMessage) async -> Outcome {
        guard let receive else { return .refused("the program takes no messages") }
        let limit = Tunables.Commands.messageLimit
        let (outcomes, ended) = AsyncStream.makeStream(of: Outcome.self)
        // Tasks of their own on purpose: a call that never returns, cancelled or not, must not hold up the next
        // message.
        let call = Task {
            do {
                try await receive(message)
                ended.yield(.taken)
            } catch {
                ended.yield(.refused("the program did not take it: \(error)"))
            }
        }
        let timer = Task { [sleeper] in
            try? await sleeper.sleep(for: limit)
            ended.finish()
        }
        let outcome = await outcomes.first { _ in true }
        call.cancel()
        timer.cancel()
        return outcome ?? .refused("the program did not take it within \(limit.components.seconds) s")
    }
}
