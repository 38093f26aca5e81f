"""Context-free grammars: readers of Lark, GBNF and EBNF, and the byte automaton of a grammar.

Reading order: `specs` (what users write), `readers` (text to rules), `ir` (rules and terminals),
`transforms` (left-corner form), `terminals` (byte DFAs), `lookaround`, `automaton`, `analysis`
(can what has been read still be finished?), `embedded` (other specs inside a grammar).
"""
