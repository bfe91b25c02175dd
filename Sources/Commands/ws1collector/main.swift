import CollectorCommands

await CollectorCommand.start()
