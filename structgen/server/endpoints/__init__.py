"""What endpoints answer: messages, texts, events of streams."""
