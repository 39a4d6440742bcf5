"""Values and decisions of mcppd: pure and synchronous, no input or output of any kind."""
