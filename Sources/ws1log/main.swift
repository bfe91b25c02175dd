import LogCommands

LogCommand.runAndExit()
