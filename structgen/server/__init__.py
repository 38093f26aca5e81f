"""A server with the OpenAI API: every constraint that a request names is enforced, or refused.

Client ─▶ app.py ─▶ wire.py (fields) ─▶ specs.py (one spec) ─▶ compiling.py (threads)
                                                                     │
       ◀─ chat.py, completions.py (answers, events of streams) ◀─ engine.py (one thread, all rows)
"""
