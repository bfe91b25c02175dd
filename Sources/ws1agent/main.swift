import AgentCommands

MemoryFootprint.prepare()
await AgentCommand.runAndExit()
