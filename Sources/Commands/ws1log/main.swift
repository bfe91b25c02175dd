import LogCommands

await LogCommand.runAndExit()
