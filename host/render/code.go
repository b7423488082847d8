package render

import (
	"strings"
	"sync"
	"time"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
)

// Limits of coloured code. Code beyond them has no colours.
const (
	MaxCode    = 32 << 10              // bytes of one block
	colourTime = 50 * time.Millisecond // of one document
)

// Highlight returns source code as Text and Token elements. Their texts
// concatenated equal the source.
// Language is a name or a file extension, such as "go" or "ts"; the
// first word counts. Classes of tokens are comment, keyword, name, number, string, inserted and
// deleted. Code in an unknown language, code longer than MaxCode, and the remainder after 50 ms are
// one Text element.
func Highlight(language, source string) []Element {
	return newColours().of(language, source)
}

// colours limits the time for highlighting all code of one document, because some languages' regular
// expressions are slow on hostile input. The time for compiling them, once per process, does not count.
type colours struct{ left time.Duration }

func newColours() *colours { return &colours{left: colourTime} }

func (c *colours) of(language, source string) []Element {
	language, _, _ = strings.Cut(strings.TrimSpace(language), " ")
	lexer := languages()[strings.ToLower(language)]
	if lexer == nil || len(source) > MaxCode {
		return shown(nil, Text, "", source)
	}
	tokens, err := chroma.Coalesce(lexer).Tokenise(&chroma.TokeniseOptions{State: "root", EnsureLF: false}, source)
	if err != nil {
		return shown(nil, Text, "", source)
	}
	var nodes []Element
	rest := source
	began := time.Now()
	defer func() { c.left -= time.Since(began) }()
	for t := tokens(); t != chroma.EOF && time.Since(began) < c.left; t = tokens() {
		if !strings.HasPrefix(rest, t.Value) {
			break // a lexer that changes the text: the rest is shown as written
		}
		rest = rest[len(t.Value):]
		if class := classOf(t.Type); class != "" {
			nodes = shown(nodes, Token, class, t.Value)
		} else {
			nodes = shown(nodes, Text, "", t.Value)
		}
	}
	return shown(nodes, Text, "", rest)
}

// languages are the lexers by name: lexers.Get tries patterns of file names, which takes a time that
// a document could spend on each of its blocks.
var languages = sync.OnceValue(func() map[string]chroma.Lexer {
	all := map[string]chroma.Lexer{}
	for _, lexer := range lexers.GlobalLexerRegistry.Lexers {
		config := lexer.Config()
		for _, name := range append([]string{config.Name}, config.Aliases...) {
			all[strings.ToLower(name)] = lexer
		}
		for _, pattern := range config.Filenames {
			if extension := strings.TrimPrefix(pattern, "*."); extension != pattern && all[extension] == nil {
				all[extension] = lexer
			}
		}
	}
	return all
})

// shown appends a text. Adjacent texts are one.
func shown(nodes []Element, kind Kind, class, text string) []Element {
	if text == "" {
		return nodes
	}
	if last := len(nodes) - 1; kind == Text && last >= 0 && nodes[last].Kind == Text {
		nodes[last].Text += text
		return nodes
	}
	return append(nodes, Element{Kind: kind, Class: class, Text: text})
}

func classOf(t chroma.TokenType) string {
	switch {
	case t.InCategory(chroma.Comment):
		return "comment"
	case t.InCategory(chroma.Keyword):
		return "keyword"
	case t.InSubCategory(chroma.LiteralString):
		return "string"
	case t.InSubCategory(chroma.LiteralNumber):
		return "number"
	case t == chroma.NameFunction, t == chroma.NameClass, t == chroma.NameTag, t == chroma.NameAttribute,
		t == chroma.NameBuiltin:
		return "name"
	case t == chroma.GenericInserted:
		return "inserted"
	case t == chroma.GenericDeleted:
		return "deleted"
	}
	return ""
}
