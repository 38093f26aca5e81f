// llama.cpp's grammar engine as a library of its own, for the tests: one text at a time, no model.

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "ggml.h"
#include "llama-grammar.h"
#include "llama-sampler.h"
#include "llama-vocab.h"

// What the engine uses of the rest of llama.cpp; a grammar without a vocabulary calls none of it.
void ggml_abort(const char *, int, const char *, ...) { abort(); }
int32_t llama_vocab::tokenize(const char *, int32_t, llama_token *, int32_t, bool, bool) const { abort(); }
const std::string & llama_vocab::token_to_piece(llama_token) const { abort(); }
bool llama_vocab::is_eog(llama_token) const { abort(); }

void llama_log_internal(ggml_log_level, const char * format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
}

extern "C" {

void * grammar_new(const char * text) {
    return llama_grammar_init_impl(nullptr, text, "root", false, nullptr, 0, nullptr, 0);
}

void grammar_free(void * grammar) {
    llama_grammar_free_impl(static_cast<llama_grammar *>(grammar));
}

// Whether a text of code points is read from end to end.
int grammar_fits(void * grammar, const uint32_t * codes, int count) {
    llama_grammar * copy = llama_grammar_clone_impl(*static_cast<llama_grammar *>(grammar));
    for (int i = 0; i < count; i++) {
        llama_grammar_accept(copy, codes[i]);
    }
    bool fits = false;
    for (const auto & stack : llama_grammar_get_stacks(copy)) {
        fits = fits || stack.empty();
    }
    llama_grammar_free_impl(copy);
    return fits;
}
}
