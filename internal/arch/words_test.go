package arch_test

import (
	"go/ast"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// retired has the words that must not be part of a name, with the words to write instead;
// docs/internals/glossary.md lists them too. The rule is for names of files, functions, methods, types,
// fields, package variables and constants. A word of a name begins with a capital letter or an
// underscore.
var retired = map[string]string{
	"man":      "start (a worker for a run)",
	"manned":   "executing, or with a worker",
	"unmanned": "without a worker",
	"tell":     "encode, publish, notify or describe",
	"told":     "notified",
	"teller":   "encoder, or the payload's own name",
	"telling":  "event, or payload",
	"tells":    "describes, or reports",
	"weigh":    "collectEvidence",
	"stamp":    "commitTime",
	"rescue":   "recover, or retry",
	"havoc":    "the fault's own name",
	"sweep":    "recoveryPass, scanProcesses, cleanUp",
	"sweeper":  "ProcessCleaner",
	"unheld":   "without a slot, or released",
	"unsent":   "notSent",
	"heed":     "apply, or watch",
	"doubt":    "unknownOutcome",
}

// retiredAlone are words that are too vague to be a whole name.
var retiredAlone = map[string]string{
	"look":   "load, scan or poll, and what",
	"take":   "claim, drain or remove, and what",
	"begin":  "start, and what",
	"made":   "created",
	"known":  "cached, or recent",
	"again":  "retry, or retryable",
	"behind": "stuck, or late",
	"apart":  "separate, and what",
	"sight":  "what is seen",
	"front":  "first, or position",
	"keep":   "store, cache or retain, and what",
}

// wordsOf splits a name into words.
var wordsOf = regexp.MustCompile(`[A-Z]+[a-z0-9]*|[a-z0-9]+`)

// declared returns the names that a file declares.
func declared(path string, file *ast.File) []string {
	names := []string{strings.TrimSuffix(filepath.Base(path), ".go")}
	add := func(idents ...*ast.Ident) {
		for _, i := range idents {
			names = append(names, i.Name)
		}
	}
	for _, d := range file.Decls { // local variables and constants are not checked
		if g, ok := d.(*ast.GenDecl); ok {
			for _, s := range g.Specs {
				if v, ok := s.(*ast.ValueSpec); ok {
					add(v.Names...)
				}
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			add(n.Name)
		case *ast.TypeSpec:
			add(n.Name)
		case *ast.StructType:
			for _, f := range n.Fields.List {
				add(f.Names...)
			}
		case *ast.InterfaceType:
			for _, f := range n.Methods.List {
				add(f.Names...)
			}
		}
		return true
	})
	return names
}

// retiredIn returns the retired word in a name and what to write instead, or two empty strings.
func retiredIn(name string) (word, instead string) {
	alone := strings.ToLower(name)
	if instead, ok := retiredAlone[alone]; ok {
		return alone, instead
	}
	for _, w := range wordsOf.FindAllString(name, -1) {
		w = strings.ToLower(w)
		if instead, ok := retired[w]; ok {
			return w, instead
		}
	}
	return "", ""
}

// TestNamesHaveNoRetiredWords checks that names use the glossary's terms and none of the words that
// it has retired. The rule also holds for tests, proofs and examples.
func TestNamesHaveNoRetiredWords(t *testing.T) {
	eachFile(t, "../..", func(path string, file *ast.File) {
		for _, name := range declared(path, file) {
			word, instead := retiredIn(name)
			assert.Empty(t, word, "%s: %s: the word is retired (glossary.md); write %s", path, name, instead)
		}
	})
}

func TestARetiredWordIsFound(t *testing.T) {
	for name, want := range map[string]string{
		"tellAll": "tell", "runTold": "told", "sweep_linux": "sweep", "take": "take", "Known": "known",
		"takeover": "", "timestamp": "", "knownRuns": "", "manual": "", "Stamp": "stamp", "manRun": "man",
	} {
		word, _ := retiredIn(name)
		require.Equal(t, want, word, name)
	}
}
