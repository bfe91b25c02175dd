import Foundation
import SwiftProtobuf
import WireModel

/// The messages behind the golden vectors: fixed for ever, one of each that travels.
enum GoldenMessages {
    static let all: [(name: String, message: any Message)] = [
        ("record-beacon", record(1, .beacon, stream: .status, body: beacon.encoded)),
        ("record-event", record(7, .event, stream: .event, body: event.encoded)),
        (
            "record-sample-system",
            record(1_000_000, .sampleSystem, stream: .sample, module: "system", body: systemSample.encoded)
        ),
        ("batch-request", batchRequest), ("batch-answer", batchAnswer),
        ("close-request", closeRequest), ("close-answer", closeAnswer),
        ("close-request-totals", closeRequestWithTotals),
        ("enroll-request", enrollRequest), ("enroll-answer", enrollAnswer),
        ("profile", profile), ("command", command), ("command-result", commandResult),
        ("upload-manifest", uploadManifest), ("upload-manifest-selected", selectedManifest),
        ("upload-status", uploadStatus),
        ("complete-upload", completeUpload),
        ("sample-network-data", networkData), ("sample-network-adapter", networkAdapter), ("sample-wlan", wlan),
        ("sample-gps", gps), ("sample-custom", custom), ("sample-analytics", analytics),
        ("sample-system-totals", systemTotals),
    ]

    static let epoch = EpochID(high: 0x0123_4567_89AB_4DEF, low: 0x8123_4567_89AB_CDEF)
    static let device = DeviceID(high: 0x1111_2222_3333_4444, low: 0x8888_9999_AAAA_BBBB)
    static let boot = BootID(high: 0xAAAA_AAAA_AAAA_4AAA, low: 0x8AAA_AAAA_AAAA_AAAA)
    static let wallTime: Int64 = 1_790_000_000_123_456

    static func newRecord(_ kind: WireRecordKind, stream: StreamName, module: String = "", body: Data) -> NewRecord {
        NewRecord(
            stream: stream, kind: kind, module: module,
            stamp: RecordStamp(wallTime: wallTime, bootID: boot, timeSinceBoot: 3_600_000_001),
            body: body)
    }

    static func record(_ number: UInt64, _ kind: WireRecordKind, stream: StreamName, module: String = "", body: Data)
        -> WireRecord
    {
        let bytes = newRecord(kind, stream: stream, module: module, body: body).serialized(number: number)
        do { return try WireRecord.decode(bytes) } catch { preconditionFailure("\(error)") }
    }

    static let beacon = WireBeacon.with {
        $0.trigger = .start
        $0.deviceName = "kiosk-17"
        $0.organizationGroup = "default"
        $0.application = "org.example.kiosk"
        $0.applicationVersion = "4.2.0"
        $0.libraryVersion = "1.0.0"
        $0.operatingSystem = operatingSystem
        $0.userEmail = "a@example.org"
        $0.enrollment = .enrolled
        $0.deviceCompliance = .unknown
        $0.compromised = .no
        $0.findings = [
            .with {
                $0.detector = "tracer-attached"; $0.verdict = .no; $0.evidence = "TracerPid 0"
            }
        ]
        $0.managed = .unknown
        $0.pushToken = .with { $0.cleared = true }
        $0.doNotDisturb = .no
        $0.power = .with {
            $0.externalPower = true; $0.batteryLevel = 9_950; $0.state = .full
        }
        $0.network = .ethernet
        $0.profileRevision = 3
        $0.nextBeaconSeconds = 900
        $0.queue = [
            .with {
                $0.stream = .sample; $0.waiting = 12; $0.waitingBytes = 2_400; $0.acknowledged = 88
            }
        ]
        $0.self_p = .with {
            $0.cpuTimeMicroseconds = 1_234; $0.residentBytes = 16_777_216; $0.uptimeMicroseconds = 60_000_000
        }
        $0.beaconSequence = 1
    }

    static let event = WireEvent.with {
        $0.type = .custom
        $0.name = "checkout.paid"
        $0.value = .with { $0.integer = -42 }
        $0.attributes = ["currency": .with { $0.text = "EUR" }]
        $0.sessionID = Data(repeating: 0x5E, count: 16)
    }

    static let operatingSystem = WireOperatingSystem.with {
        $0.name = "linux"
        $0.distribution = "debian"
        $0.version = "12"
        $0.kernel = "6.1.0-18-amd64"
        $0.architecture = "x86_64"
    }

    static let systemSample = WireSystemSample.with {
        $0.uptimeSeconds = 86_400
        $0.intervalMicroseconds = 1_000_123
        $0.cpu = .with {
            $0.user = 312; $0.system = 108; $0.idle = 9_570; $0.ioWait = 10
        }
        $0.cores = [
            .with {
                $0.user = 312; $0.idle = 9_688
            },
            .with {
                $0.number = 1; $0.idle = 10_000
            },
        ]
        $0.load = .with {
            $0.oneMinute = 12; $0.fiveMinutes = 9; $0.fifteenMinutes = 5
        }
        $0.activity = .with {
            $0.contextSwitches = 1_204; $0.interrupts = 640; $0.running = 1; $0.blocked = 0
        }
        $0.pressure = .with {
            $0.io = .with {
                $0.some = .with {
                    $0.average10Seconds = 150; $0.totalMicroseconds = 123_456
                }
            }
        }
        $0.memory = .with {
            $0.total = 25_000_000_000; $0.available = 23_000_000_000; $0.swapTotal = 0
        }
        $0.fileSystems = [
            .with {
                $0.mountPoint = "/"; $0.type = "ext4"; $0.device = "/dev/vda1"; $0.size = 1 << 38; $0.used = 1 << 34;
                $0.available = 1 << 37
            }
        ]
        $0.blockDevices = [
            .with {
                $0.name = "vda"; $0.writes = 3; $0.writtenBytes = 12_288; $0.busyMicroseconds = 900
            }
        ]
        $0.temperatures = [
            .with {
                $0.sensor = "coretemp/Core 0"; $0.millidegrees = -1_500
            }
        ]
        $0.self_p = .with {
            $0.cpuTimeMicroseconds = 55_000; $0.residentBytes = 16_000_000; $0.writtenBytes = 4_096; $0.openFiles = 14
        }
    }

    /// The totals that came with the names of OpenTelemetry, each with another value.
    static let systemTotals = WireSystemSample.with {
        $0.uptimeSeconds = 3_601
        $0.cpuTime = .with {
            $0.user = 1_000; $0.nice = 2; $0.system = 300; $0.idle = 4_000_000_000_000; $0.ioWait = 5; $0.interrupt = 60
            $0.steal = 7
        }
        $0.activity.processesCreatedSinceBoot = 98_765
        $0.memory = .with {
            $0.total = 1 << 34; $0.used = 1 << 33; $0.slabReclaimable = 1 << 28; $0.slabUnreclaimable = 1 << 27
            $0.swapTotal = 1 << 32; $0.swapUsed = 0
        }
        $0.fileSystems = [
            .with {
                $0.mountPoint = "/"; $0.size = 100; $0.used = 70; $0.available = 25; $0.reserved = 5
            }
        ]
        $0.blockDevices = [
            .with {
                $0.name = "vda"; $0.size = 1 << 38
                $0.total = .with {
                    $0.reads = 1; $0.writes = 2; $0.readBytes = 512; $0.writtenBytes = 1_024; $0.busyMilliseconds = 3
                    $0.mergedReads = 4; $0.mergedWrites = 5; $0.readMilliseconds = 6; $0.writeMilliseconds = 7
                    $0.countedMicroseconds = 8_000_000
                }
            }
        ]
        $0.self_p = .with {
            $0.cpuUserMicroseconds = 40_000; $0.cpuSystemMicroseconds = 15_000; $0.readBytes = 8_192
        }
    }

    /// Three records after a gap of two, as a queue would cut them.
    static let batchRequest = WireBatchRequest.with {
        let gapLink = ChainLink(high: 0x0102_0304_0506_0708, low: 0x090A_0B0C_0D0E_0F10)
        var link = gapLink
        var records: [Data] = []
        for number in UInt64(3)...5 {
            let bytes = newRecord(.event, stream: .event, body: event.encoded).serialized(number: number)
            link = link.appending(bytes)
            records.append(bytes)
        }
        $0.parts = [
            BatchPart(
                epoch: epoch, stream: .event, first: 1, last: 5, priorLink: .zero, lastLink: link,
                gaps: [Gap(first: 1, last: 2, reason: .byteCap, link: gapLink)],
                totals: StreamTotals(
                    produced: 6, waiting: 3, dropped: [.byteCap: 2], droppedUnnumbered: [.tooLarge: 1]),
                records: records
            ).wire
        ]
        $0.profileRevision = 3
        $0.expectedBeaconSeconds = 900
    }

    static let batchAnswer = WireBatchAnswer.with {
        let mark = StreamMark(
            number: 9, link: ChainLink(high: 1, low: 2), stored: 5, rejected: [.recordTooLarge: 1],
            dropped: [.byteCap: 2],
            lostAtCollector: 1)
        $0.parts = [
            PartAnswer(epoch: epoch, stream: .event, outcome: .stored, mark: mark).wire,
            PartAnswer(
                epoch: epoch, stream: .sample, outcome: .damaged, mark: .none,
                detail: "the chain over 1...2 does not end"
            ).wire,
        ]
        $0.profileRevision = 4
        $0.serverTime = wallTime
        $0.retryAfterMilliseconds = 1_500
        $0.durability = "fsync"
    }

    static let closeRequest = WireCloseRequest.with {
        $0.epoch = epoch.data
        $0.streams = [WireStream.status, .event, .sample].map { stream in
            .with {
                $0.stream = stream
                $0.last = 9
                $0.reason = .moved
                $0.points = [
                    .with {
                        $0.number = 9; $0.link = ChainLink(high: 1, low: 2).data
                    }
                ]
            }
        }
    }

    /// What devices send that know the field.
    static let closeRequestWithTotals = WireCloseRequest.with {
        $0 = closeRequest
        for index in $0.streams.indices {
            $0.streams[index].totals =
                StreamTotals(produced: 12, waiting: 2, dropped: [.byteCap: 2], droppedUnnumbered: [.bufferFull: 3]).wire
        }
    }

    static let closeAnswer = WireCloseAnswer.with {
        $0.epoch = epoch.data
        $0.streams = [
            .with {
                $0.stream = .status; $0.mark = StreamMark.none.wire; $0.unknown = true
            },
            .with {
                $0.stream = .event;
                $0.matched = .with {
                    $0.number = 9; $0.link = ChainLink(high: 1, low: 2).data
                }
            },
        ]
        $0.serverTime = wallTime
    }

    static let enrollRequest = WireEnrollRequest.with {
        $0.machineHash = "6f1a"
        $0.deviceName = "kiosk-17"
        $0.operatingSystem = operatingSystem
        $0.agentVersion = "ws1agent/1.0.0"
    }

    static let enrollAnswer = WireEnrollAnswer.with {
        $0.deviceID = device.data
        $0.credential = "secret"
        $0.organization = "default"
        $0.collectorID = Data(repeating: 0xC0, count: 16)
        $0.incarnationID = Data(repeating: 0x1C, count: 16)
        $0.profileRevision = 1
        $0.serverTime = wallTime
    }

    static let profile = WireProfile.with {
        $0.revision = 4
        $0.organization = "default"
        $0.sampling = .with {
            $0.modules = ["system"]; $0.modulesGiven = true; $0.sampleSeconds = 60; $0.transmitSeconds = 300
        }
        $0.analytics = .with {
            $0.enabled = true; $0.holdSeconds = 0
        }
        $0.logging = .with {
            $0.enabled = true; $0.level = .information; $0.wifiOnly = false; $0.scrubValues = ["secret"]
        }
        $0.privacy = ["ssid": .drop]
        $0.transmission = [
            .with {
                $0.data = "sample"; $0.networks = [.ethernet, .wifi]; $0.metered = false
            }
        ]
        $0.compliance = [
            .with {
                $0.id = "os"; $0.subject = "operating-system-version"; $0.operator = ">="; $0.version = "12"
            }
        ]
        $0.geofences = [
            .with {
                $0.id = "office"; $0.latitude = 50.1; $0.longitude = 8.6; $0.radiusMeters = 200
            }
        ]
        $0.customPayload = "raw"
    }

    static let command = WireCommand.with {
        $0.id = Data(repeating: 0xCD, count: 16)
        $0.expires = wallTime
        $0.requestLogs = .with {
            $0.mode = .capture; $0.level = .verbose; $0.captureSeconds = 60; $0.maximumBytes = 5_000_000
        }
    }

    static let commandResult = WireCommandResult.with {
        $0.commandID = Data(repeating: 0xCD, count: 16)
        $0.state = .notNow
        $0.detail = "metered"
    }

    static let uploadManifest = WireUploadManifest.with {
        $0.uploadID = Data(repeating: 0xF0, count: 16)
        $0.type = .crash
        $0.chunks = [
            .with {
                $0.number = 1; $0.firstLine = 1; $0.lastLine = 99; $0.rawBytes = 5_000_000;
                $0.rawDigest = Data(repeating: 1, count: 32)
            }
        ]
    }

    static let selectedManifest = WireUploadManifest.with {
        $0.uploadID = Data(repeating: 0xF1, count: 16)
        $0.application = "com.example.kiosk"
        $0.level = .warning
        $0.commandID = Data(repeating: 0xCD, count: 16)
        $0.created = wallTime
        $0.logEpoch = Data(repeating: 0xE7, count: 16)
        $0.selection = .with {
            $0.type = .application; $0.level = .warning; $0.since = wallTime - 1; $0.until = wallTime;
            $0.categories = ["app.*"]
            $0.text = "refused"
        }
        $0.chunks = [
            .with {
                $0.number = 1; $0.firstLine = 1_000_001; $0.lastLine = 2_000_007; $0.rawBytes = 812;
                $0.rawDigest = Data(repeating: 2, count: 32)
                $0.fileName = "kiosk-1of1.log.gz"; $0.firstTime = wallTime - 1; $0.lastTime = wallTime;
                $0.levelLines = [3, 4, 0, 0]
                $0.ring = true; $0.type = .application
            }
        ]
    }

    static let uploadStatus = WireUploadStatus.with {
        $0.uploadID = Data(repeating: 0xF1, count: 16)
        $0.missing = [2, 5]
        $0.expires = wallTime
        $0.state = .open
        $0.deleted = [1]
        $0.gone = [
            .with {
                $0.number = 3; $0.reason = .byteCap
            }
        ]
        $0.storedChunks = 1
        $0.storedRawBytes = 812
        $0.serverTime = wallTime
    }

    static let completeUpload = WireCompleteUpload.with {
        $0.gone = [
            .with {
                $0.number = 3; $0.reason = .byteCap
            }
        ]
    }

    static let networkData = WireNetworkDataSample.with {
        $0.intervalMicroseconds = 1_000_000
        $0.interfaces = [
            .with {
                $0.name = "eth0"; $0.class = .ethernet; $0.delta = .with { $0.receivedBytes = 10 };
                $0.total = .with { $0.receivedBytes = 99 }
            }
        ]
        $0.tcpEstablished = 4
    }

    static let networkAdapter = WireNetworkAdapterSample.with {
        $0.adapters = [
            .with {
                $0.name = "eth0"; $0.index = 2; $0.mtu = 1_500;
                $0.addresses = [
                    .with {
                        $0.address = "192.0.2.7"; $0.prefixLength = 24
                    }
                ]
            }
        ]
        $0.defaultGateways = ["192.0.2.1"]
    }

    static let wlan = WireWLANSample.with {
        $0.interfaces = [
            .with {
                $0.name = "wlan0"; $0.ssid = Data("caf\u{e9}".utf8); $0.signalDecibelMilliwatts = -61;
                $0.frequencyMegahertz = 5_180
            }
        ]
    }

    static let gps = WireGPSSample.with {
        $0.location = .with {
            $0.latitude = 50.11; $0.longitude = 8.68; $0.accuracyMeters = 4.5; $0.time = wallTime
        }
        $0.fix = 3
        $0.satellitesUsed = 9
    }

    static let custom = WireCustomSample.with {
        $0.measurements = [
            .with {
                $0.name = "queue.depth"; $0.unit = "{item}"; $0.value = .with { $0.real = 1.5 }
            }
        ]
    }

    static let analytics = WireAnalyticsSample.with {
        $0.launches = 1
        $0.eventsRecorded = 20
        $0.eventsHeld = 3
    }
}
