import FleetSimulator

FleetSimulatorCommand.runAndExit()
