"""Messaging apps: what is said there, durable in both directions."""
