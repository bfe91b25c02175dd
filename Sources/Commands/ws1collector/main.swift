import CollectorCommands

CollectorCommand.runAndExit()
