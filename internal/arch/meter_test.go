package arch_test

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// idioms are phrases of a translated English. An engineer who writes English for engineers uses
// nouns and active verbs instead: continue, reassign, next to, unlimited, stored with. "Those of"
// counts twice.
var idioms = slices.Concat(
	phrases("go goes going went gone", "on"),
	phrases("beside anew meanwhile somebody nobody whoever stand stands alone further told tell tells"),
	phrases("for", "ever"),
	phrases("what", "is was has had it they the a an comes stands others this that every each"),
	phrases("those", "of that which with who"), phrases("that those", "of"),
	phrases("one ones", "that which with of"), phrases("of", "its their his", "own"), phrases("is", "of none"),
	phrases("such", "a an"), phrases("hands handed", "over on back it"),
)

// phrases combines each word of the first text with each of the next, and so on.
func phrases(first string, rest ...string) []string {
	all := strings.Fields(first)
	for _, next := range rest {
		var longer []string
		for _, phrase := range all {
			for word := range strings.FieldsSeq(next) {
				longer = append(longer, phrase+" "+word)
			}
		}
		all = longer
	}
	return all
}

// count counts whole words of a lower-case text that are the phrase.
func count(text, phrase string) (n int) {
	inWord := func(i int) bool {
		return i >= 0 && i < len(text) && strings.IndexByte("_0123456789abcdefghijklmnopqrstuvwxyz", text[i]) >= 0
	}
	for at := 0; ; {
		i := strings.Index(text[at:], phrase)
		if i < 0 {
			return n
		}
		if begin, end := at+i, at+i+len(phrase); !inWord(begin-1) && !inWord(end) {
			n++
		}
		at += i + len(phrase)
	}
}

// meter counts the idioms in the text that its function finds in files.
type meter struct {
	name  string
	bound int                           // idioms per 10,000 words; it only falls
	of    func(path string) (ours bool) // which files
	text  func(source string) (text string)

	words, hits int
	files       []string // with their hits, for a failure's message
}

var (
	comment = regexp.MustCompile(`//[ \t]?(.*)`)
	program = regexp.MustCompile("(?s)```.*?```")
)

func comments(source string) string {
	var b strings.Builder
	for _, m := range comment.FindAllStringSubmatch(source, -1) {
		b.WriteString(m[1] + " ")
	}
	return b.String()
}

func prose(source string) string { return program.ReplaceAllString(source, "") }

func (m *meter) add(path, source string) {
	text := strings.ToLower(m.text(source))
	hits := 0
	for _, idiom := range idioms {
		hits += count(text, idiom)
	}
	m.words += len(strings.Fields(text))
	m.hits += hits
	if hits > 0 {
		m.files = append(m.files, fmt.Sprintf("%4d %s", hits, path))
	}
}

// below reports whether a folder of the path has a name of the list.
func below(path string, names ...string) bool {
	return slices.ContainsFunc(strings.Split(filepath.Dir(path), "/"), func(folder string) bool {
		return slices.Contains(names, folder)
	})
}

// The bounds only fall. A text above its bound is rewritten, sentence by sentence.
func TestTextsArePlainEnglish(t *testing.T) {
	isTest := func(path string) bool { return strings.HasSuffix(path, "_test.go") || below(path, "proof") }
	page := func(path string) bool { return strings.HasSuffix(path, ".md") && !below(path, "proof") }
	internal := func(path string) bool { return below(path, "internals") || filepath.Base(path) == "CHANGELOG.md" }
	meters := []*meter{
		{name: "comments of the product", bound: 6, text: comments, of: func(path string) bool {
			return strings.HasSuffix(path, ".go") && !isTest(path) && !strings.HasSuffix(path, ".gen.go") &&
				!below(path, "examples")
		}},
		{name: "README and docs", bound: 4, text: prose, of: func(path string) bool {
			return page(path) && !internal(path)
		}},
		{name: "docs/internals and the changelog", bound: 13, text: prose, of: func(path string) bool {
			return page(path) && internal(path) && filepath.Base(path) != "requirements.md"
		}},
		{name: "comments of tests and proofs", bound: 10, text: comments, of: func(path string) bool {
			return strings.HasSuffix(path, ".go") && isTest(path)
		}},
	}
	root := filepath.Join("..", "..")
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			hidden := path != root && strings.HasPrefix(d.Name(), ".")
			if hidden || below(path+"/", "testdata", "vendor", "node_modules") {
				return filepath.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		for _, m := range meters {
			if !m.of(rel) {
				continue
			}
			source, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			m.add(rel, string(source))
		}
		return nil
	}))
	for _, m := range meters {
		t.Run(m.name, func(t *testing.T) {
			slices.SortFunc(m.files, func(a, b string) int { return cmp.Compare(b, a) })
			rate := (m.hits*10_000 + m.words/2) / m.words
			t.Logf("%d idioms per 10,000 words, of %d words", rate, m.words)
			require.LessOrEqual(t, rate, m.bound, "idioms per 10,000 words; where they are:\n%s",
				strings.Join(m.files[:min(len(m.files), 20)], "\n"))
		})
	}
}

// maxDocs bounds the words of README and docs for users, without tutorials, so that a page grows
// only if another one shrinks. It only falls.
const maxDocs = 45_000

func TestTheDocumentationStaysShort(t *testing.T) {
	words := 0
	for _, pattern := range []string{"README.md", "docs/*.md", "docs/engines/*.md"} {
		files, err := filepath.Glob(filepath.Join("..", "..", pattern))
		require.NoError(t, err)
		for _, name := range files {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			words += len(strings.Fields(string(text)))
		}
	}
	t.Logf("%d words", words)
	require.LessOrEqual(t, words, maxDocs)
}
