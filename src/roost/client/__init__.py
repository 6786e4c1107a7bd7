"""The application as a running server offers it: the same methods as in the process, over HTTP."""
