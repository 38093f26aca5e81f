"""Other specs inside a grammar (`%json`, `ref(...)`), read by automata of their own."""
