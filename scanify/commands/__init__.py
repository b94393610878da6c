"""One module for each command: options in, exit code out. They print; the stages behind them do not."""
