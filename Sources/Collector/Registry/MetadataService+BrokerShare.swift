import FoundationEssentials
import RecordStore
import WireModel

extension MetadataService {
    /// The name under which the collectors of this registry share what comes from a message broker. It is made once,
    /// and stays.
    ///
    /// Nobody else can guess it: access lists such as Mosquitto's do not check subscriptions. A device that joined the
    /// collectors' share would read nothing, but what the broker dealt to it would be lost.
    package func brokerShare() throws(StoreError) -> String {
        try transaction { () throws(StoreError) in
            let known = try connection.meta("broker_share")
            if !known.isEmpty { return known.hexadecimal }
            let made = Data((0..<16).map { _ in UInt8.random(in: 0...255) })
            try connection.setMeta("broker_share", to: made)
            return made.hexadecimal
        }
    }
}
