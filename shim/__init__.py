"""The shim: the stdio process that an agent starts; it forwards bytes and knows nothing of what they say."""
