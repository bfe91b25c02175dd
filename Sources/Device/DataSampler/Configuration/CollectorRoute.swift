import FoundationEssentials
import HTTPConnection
import MQTTClient
import MQTTTransport
import WireModel

/// The way to the collector that a configuration names: over HTTP, or through a message broker.
enum CollectorRoute: Sendable {
    case http(ConnectionSettings)
    case broker(MQTTTransportSettings)

    /// Whether the other end shows a certificate: the collector's, or the broker's.
    var isTLS: Bool {
        switch self {
        case .http(let settings): settings.collector.scheme == .https
        case .broker(let settings): settings.address.isTLS
        }
    }

    /// Whether a text is an address without TLS, so that pins and authorities have no effect.
    static func isPlain(_ url: String) -> Bool {
        let url = url.lowercased()
        return url.hasPrefix("http:") || url.hasPrefix("mqtt:")
    }

    /// The address as it is understood; the text itself if it is none.
    static func normalized(_ url: String) -> String {
        if MQTTAddress.isOne(url) {
            return (try? MQTTAddress(url, what: "collector URL"))?.description ?? url
        }
        return (try? EndpointURL(collector: url))?.description ?? url
    }

    /// Checks what needs neither file nor connection.
    func checkValues() throws(DataSamplerError) {
        switch self {
        case .http(let settings):
            do throws(ConnectionSettingsError) { try settings.checkPlaintext() } catch { throw Self.refusal(error) }
        case .broker(let settings):
            do throws(MQTTError) { try settings.checkValues() } catch { throw Self.refusal(error) }
        }
    }

    /// Checks the same and the files; for a broker also that libmosquitto is installed.
    func checkFiles() throws(DataSamplerError) {
        switch self {
        case .http(let settings):
            do throws(ConnectionSettingsError) { try settings.check() } catch { throw Self.refusal(error) }
        case .broker(let settings):
            do throws(ConnectionSettingsError) {
                try ConnectionSettings.certificates(ofDER: settings.security.authorities)
            } catch { throw Self.refusal(error) }
            do throws(MQTTError) { try settings.check() } catch { throw Self.refusal(error) }
        }
    }

    static func refusal(_ error: ConnectionSettingsError) -> DataSamplerError {
        DataSamplerError(.invalidConfiguration, error.message, cause: error)
    }

    static func refusal(_ error: MQTTError) -> DataSamplerError {
        DataSamplerError(.invalidConfiguration, error.message, cause: error)
    }
}

extension DataSamplerConfiguration {
    /// The way that ``collectorURL`` and the settings beside it name.
    /// - Throws: `invalidConfiguration`.
    var collectorRoute: CollectorRoute {
        get throws(DataSamplerError) {
            if MQTTAddress.isOne(collectorURL) { return .broker(try brokerSettings) }
            for (name, value) in mqttSettings where value != nil {
                throw Self.invalid(
                    "\(name) is given, and collectorURL is no mqtts:// address: correct it, or remove \(name)")
            }
            return .http(try connectionSettings)
        }
    }

    /// Checks the address, the pins, and what belongs together with the address.
    func validateRoute() throws(DataSamplerError) {
        let route = try collectorRoute
        try route.checkValues()
        do throws(WireError) { _ = try EnrollmentFile.pins(certificatePins) } catch {
            throw DataSamplerError(.invalidConfiguration, "the configuration \(error.message)", cause: error)
        }
        guard certificatePins.isEmpty || route.isTLS else {
            throw Self.invalid(
                """
                certificatePins need an https:// or mqtts:// address: without TLS no key is shown. Correct \
                collectorURL, or remove the pins
                """
            )
        }
    }

    private var mqttSettings: KeyValuePairs<String, String?> {
        [
            "mqttUser": mqttUser, "mqttPasswordFile": mqttPasswordFile, "mqttName": mqttName,
            "mqttCertificate": mqttCertificate, "mqttKey": mqttKey,
        ]
    }

    private var brokerSettings: MQTTTransportSettings {
        get throws(DataSamplerError) {
            guard proxyURL == nil else {
                throw Self.invalid(
                    "proxyURL is given: an HTTP proxy carries no MQTT. Remove it, or give an https:// address")
            }
            guard clientKeyFile == nil else {
                throw Self.invalid(
                    """
                    clientKeyFile is given: behind a message broker the collector sees no certificate. Remove it and \
                    clientSigningRequestFile; mqttCertificate is for the broker
                    """)
            }
            let address: MQTTAddress
            do throws(MQTTError) { address = try MQTTAddress(collectorURL, what: "collector URL") } catch {
                throw CollectorRoute.refusal(error)
            }
            var settings = MQTTTransportSettings(address: address)
            settings.name = mqttName
            settings.user = mqttUser
            settings.passwordFile = mqttPasswordFile
            settings.security.authorityFile = certificateAuthorityFile
            settings.security.authorities = try givenAuthorities
            settings.security.certificateFile = mqttCertificate
            settings.security.keyFile = mqttKey
            settings.allowsPlaintext = allowsPlaintext
            return settings
        }
    }

    package var connectionSettings: ConnectionSettings {
        get throws(DataSamplerError) {
            let authorities = try givenAuthorities
            do throws(ConnectionSettingsError) {
                var settings = ConnectionSettings(
                    collector: try EndpointURL(collector: collectorURL),
                    certificateAuthorityFile: certificateAuthorityFile,
                    proxy: try proxyURL.map { url throws(ConnectionSettingsError) in try EndpointURL(proxy: url) })
                settings.certificateAuthorities = authorities
                settings.clientKeyFile = clientKeyFile
                settings.allowsPlaintext = allowsPlaintext
                try settings.applyProxy(from: proxyEnvironment)
                return settings
            } catch {
                throw CollectorRoute.refusal(error)
            }
        }
    }

    private var givenAuthorities: [Data] {
        get throws(DataSamplerError) {
            do throws(WireError) { return try EnrollmentFile.authorities(certificateAuthorities) } catch {
                throw DataSamplerError(.invalidConfiguration, "the configuration \(error.message)", cause: error)
            }
        }
    }
}
