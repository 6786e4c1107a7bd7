"""What runs turns: the application interface, live agents, streams, recovery."""
