import CtlCommands

CtlCommand.runAndExit()
