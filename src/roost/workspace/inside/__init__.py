"""What runs inside a box, as a program of its own: nothing here may import what is not Python's.

Only what Python starts fastest with, for every box waits for it. Modules import one another by name
(`from ... import name`): they arrive together, without their package.
"""
