import AgentCommands

MemoryFootprint.prepare()
AgentCommand.runAndExit()
