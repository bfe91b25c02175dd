import AgentCommands

await AgentCommand.runAndExit()
