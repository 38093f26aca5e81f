"""Reads grammars in the language of Lark, with what llguidance and XGrammar add to it."""
