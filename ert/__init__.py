"""Empirical roofline tool for CPUs: measures compute and bandwidth roofs and says what limits a kernel."""

import signal
import sys

# While `python -m ert.<command>` looks for its module, Python calls the program "-m" (documented of sys.argv). Until
# ert.door.run takes over, an interruption then ends the process as the system does, without a traceback.
if sys.argv[:1] == ["-m"] and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
