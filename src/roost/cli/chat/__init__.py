"""`roost chat`: a conversation in the terminal, or one message over a pipe."""
