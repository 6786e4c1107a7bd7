"""A session's hands: its shell, its processes and its browser, apart from the agent."""
