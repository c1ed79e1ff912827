"""The command `robell`."""

try:
    from robell.cli.main import main
except KeyboardInterrupt:  # before there is anything to tidy up
    raise SystemExit(130) from None

__all__ = ["main"]
