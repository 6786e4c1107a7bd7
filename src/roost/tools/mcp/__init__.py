"""Tools of other programs, by the Model Context Protocol.

Its client package takes a second to import: only `connection`, `pipes` and `results` name it, and
they are not imported before there is a server to talk to.
"""
