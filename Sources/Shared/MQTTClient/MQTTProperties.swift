import CLibMosquitto
import FoundationEssentials
import Glibc

/// Properties of MQTT 5 between our messages and libmosquitto's lists.
struct MQTTProperties {
    let library: LibMosquitto

    /// The properties of a message that is sent. Whoever gets the list frees it, or gives it to a will.
    /// - Throws: `configuration` for one that MQTT cannot carry.
    func list(of message: MQTTMessage) throws(MQTTError) -> OpaquePointer? {
        var list: OpaquePointer?
        var results: [CInt] = []
        if let seconds = message.expirySeconds {
            results.append(library.call.addInt32(&list, PropertyNumber.messageExpiry, seconds))
        }
        if let topic = message.responseTopic {
            results.append(library.call.addString(&list, PropertyNumber.responseTopic, topic))
        }
        if let correlation = message.correlation {
            results.append(
                Array(correlation).withUnsafeBytes {
                    library.call.addBinary(
                        &list, PropertyNumber.correlation, $0.baseAddress, UInt16(clamping: $0.count))
                })
        }
        var hasNUL = false
        for property in message.properties {
            hasNUL = hasNUL || property.name.utf8.contains(0) || property.value.utf8.contains(0)
            results.append(library.call.addPair(&list, PropertyNumber.user, property.name, property.value))
        }
        guard !hasNUL, results.allSatisfy({ $0 == LibMosquittoNumber.success }) else {
            library.call.freeProperties(&list)
            throw MQTTError(
                .configuration,
                "a property of a message to \(message.topic) is too long, is no UTF-8 or holds NUL; MQTT cannot "
                    + "carry it"
            )
        }
        return list
    }

    func integer(_ list: OpaquePointer?, _ identifier: CInt) -> UInt32? {
        var value: UInt32 = 0
        return library.call.readInt32(list, identifier, &value, false) == nil ? nil : value
    }

    /// Takes a received message over.
    func message(_ received: mosquitto_message, _ list: OpaquePointer?) -> MQTTMessage {
        var message = MQTTMessage(topic: received.topic.map { String(cString: $0) } ?? "")
        if let payload = received.payload, received.payloadlen > 0 {
            message.payload = Data(bytes: payload, count: Int(received.payloadlen))
        }
        message.isRetained = received.retain
        message.expirySeconds = integer(list, PropertyNumber.messageExpiry)
        var text: UnsafeMutablePointer<CChar>?
        if library.call.readString(list, PropertyNumber.responseTopic, &text, false) != nil {
            message.responseTopic = take(&text)
        }
        var bytes: UnsafeMutableRawPointer?
        var count: UInt16 = 0
        if library.call.readBinary(list, PropertyNumber.correlation, &bytes, &count, false) != nil, let bytes {
            message.correlation = Data(bytes: bytes, count: Int(count))
            free(bytes)
        }
        readUserProperties(of: list, into: &message)
        return message
    }

    private func readUserProperties(of list: OpaquePointer?, into message: inout MQTTMessage) {
        var place = list
        var isLater = false
        var size = 0
        while true {
            var name: UnsafeMutablePointer<CChar>?
            var value: UnsafeMutablePointer<CChar>?
            place = library.call.readPair(place, PropertyNumber.user, &name, &value, isLater)
            guard place != nil else { return }
            isLater = true
            let property = MQTTMessage.Property(take(&name) ?? "", take(&value) ?? "")
            size += property.name.utf8.count + property.value.utf8.count
            guard message.properties.count < MQTTMessage.maximumProperties, size <= MQTTMessage.maximumPropertyBytes
            else {
                message.hasTooManyProperties = true
                return
            }
            message.properties.append(property)
        }
    }

    private func take(_ text: inout UnsafeMutablePointer<CChar>?) -> String? {
        defer { free(text) }
        return text.map { String(cString: $0) }
    }
}
